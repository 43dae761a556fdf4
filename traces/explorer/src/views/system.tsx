// The system as boxes, one for each part: what a step changes stands out, its actor and receiver are marked, and an arrow joins them.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isFault, readSlots } from "../folding";
import { laneNames, messagesOf, type Message } from "../lanes";
import { columnsOf, linesOf, members, only, route, slotsOf, systemOf, unfolded, type Box, type Cell, type Group, type Rect, type System } from "../system";
import { counted, slotText, variableOf } from "../values";
import type { Walker } from "../walker";
import { toneOf } from "./truth";
import { useSize, useStore } from "./use";

const FEW = 6; // rows of a table that are shown while it is folded
const MANY = 24; // values of a list that are shown while it is folded
const FOLDED = 560; // width of the view below which boxes without a change are closed
const LINE = 20; // pixels
const BESIDE = 5; // pixels between the ways of two arrows

/** What all values of the view need to know about the state that one stands in. */
interface Scene {
  walker: Walker;
  system: System;
  before: readonly number[];
  after: readonly number[];
  changed: ReadonlySet<number>;
  reads: readonly boolean[];
  bad: boolean; // the property is violated here
  colours: ReadonlyMap<string, number>;
}

export function SystemView({ walker }: { walker: Walker }) {
  const state = useStore(walker.store);
  const { trace, path } = walker;
  const { model } = trace;
  const k = state.walk.at;
  const step = path.steps[k - 1];
  const after = path.states[k] ?? [];
  const scroller = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const { width } = useSize(scroller);
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map());
  const lanes = useMemo(() => laneNames(trace.parts, path.steps), [trace, path]);
  const system = useMemo(() => systemOf(model, lanes), [model, lanes]);
  const reads = useMemo(() => readSlots(model, trace.property), [model, trace]);
  const alive = useMemo(() => new Set([...walker.lively(), ...(walker.options()?.enabled.flatMap(({ effect }) => effect.map(([slot]) => slot)) ?? [])]), [path, k]);
  const boxes = useMemo(() => shownBoxes(system, (slot) => state.everything || alive.has(slot) || (reads[slot] ?? false)), [system, alive, reads, state.everything]);
  const columns = useMemo(() => columnsOf(boxes, (box) => LINE * box.groups.reduce((sum, group) => sum + linesOf(group), 2), width), [boxes, width]);
  const colours = useMemo(() => new Map(system.boxes.map(({ part, colour }) => [part, colour])), [system]);
  const scene: Scene = { walker, system, before: path.states[k - 1] ?? after, after, changed: new Set(step?.changed ?? []), reads, bad: path.truths[k]?.bad ?? false, colours };
  const messages = step ? messagesOf(step) : [];
  const fault = isFault(walker.action(step?.action ?? "")?.role ?? "");
  const hidden = system.boxes.reduce((sum, box) => sum + count(box), 0) - boxes.reduce((sum, box) => sum + count(box), 0);

  useLayoutEffect(() => {
    for (const what of [".box.acts", ".moved"]) stage.current?.querySelector(what)?.scrollIntoView({ block: "nearest" });
  }, [k, path, width]);

  const toggle = (key: string, now: boolean): void => setOpened(new Map([...opened, [key, !now]]));
  return (
    <section class={`system tone-${toneOf(path.truths[k]).split(" ")[0] || "plain"} actor-${colours.get(step?.by ?? "") ?? -1}`} aria-label="The system" tabIndex={-1} ref={scroller}>
      <p class="signs">
        <span>
          <i class="sign moved" /> changed by this step
        </span>
        {step && !scene.changed.size && <span>this step changes nothing</span>}
        {reads.some(Boolean) && (
          <span>
            <i class="sign read" /> the property reads it
          </span>
        )}
        <label title="values that never change in this trace">
          <input type="checkbox" checked={state.everything} onChange={() => walker.store.set({ everything: !state.everything })} /> what never changes{hidden > 0 && ` (${hidden})`}
        </label>
      </p>
      <div class="stage" ref={stage}>
        {columns.map((column, c) => (
          <div class="stack" key={c}>
            {column.map((box) => {
              const role = roleOf(box.part, step?.by, messages);
              const changes = box.groups.reduce((sum, group) => sum + slotsOf(group).filter((slot) => scene.changed.has(slot)).length, 0);
              const open = opened.get(box.part) ?? (width >= FOLDED || box.groups.some((group) => matter(scene, group)));
              return <BoxView key={box.part} scene={scene} box={box} role={role} fault={fault} changes={changes} open={open} brief={width < FOLDED && box.groups.some((group) => matter(scene, group))} opened={opened} toggle={toggle} />;
            })}
          </div>
        ))}
        <Arrows stage={stage} messages={messages} fault={fault} />
      </div>
    </section>
  );
}

function count(box: Box): number {
  return box.groups.reduce((sum, group) => sum + slotsOf(group).length, 0);
}

/** Boxes with the values that are wanted; a part without one still has its box, as it may act. */
function shownBoxes({ boxes }: System, wanted: (slot: number) => boolean): Box[] {
  const shown = boxes.map((box) => ({ ...box, groups: box.groups.flatMap((group) => only(group, wanted) ?? []) }));
  return shown.filter((box) => box.groups.length > 0 || box.kind !== "");
}

/** Whether a group shows what happens: a change, or what violates the property. */
function matter({ changed, reads, bad }: Scene, group: Group): boolean {
  return slotsOf(group).some((slot) => changed.has(slot) || (bad && reads[slot]));
}

type Role = "" | "acts" | "receives" | "sent it";

function roleOf(part: string, by: string | undefined, messages: readonly Message[]): Role {
  if (part === by) return "acts";
  const message = messages.find(({ from, to }) => from === part || to === part);
  return message ? (message.taken ? "sent it" : "receives") : "";
}

interface BoxProps {
  scene: Scene;
  box: Box;
  role: Role;
  fault: boolean;
  changes: number;
  open: boolean;
  brief: boolean; // only with the groups that matter in this step
  opened: ReadonlyMap<string, boolean>;
  toggle: (key: string, now: boolean) => void;
}

function BoxView({ scene, box, role, fault, changes, open, brief, opened, toggle }: BoxProps) {
  const fold = (event: Event): void => {
    event.preventDefault();
    toggle(box.part, open);
  };
  const values = count(box);
  const key = (group: string): string => `${box.part}\n${group}`;
  const whole = opened.get(key("")) ?? false;
  const moving = brief ? box.groups.filter((group) => matter(scene, group)) : box.groups;
  const groups = whole ? box.groups : moving;
  const left = values - count({ ...box, groups: moving });
  return (
    <details class={`box${role ? ` ${role.split(" ")[0]}` : ""}${fault ? " fault" : ""}${changes ? " changed" : ""}`} open={open} data-part={box.part}>
      <summary onClick={fold}>
        <Swatch colour={box.colour} />
        <b>{box.name}</b>
        {role && <span class="role">{fault && role === "acts" ? "event" : role}</span>}
        {!open && values > 0 && <span class="count">{changes ? `${changes} changed` : values}</span>}
      </summary>
      {open &&
        groups.map((group) => {
          const own = key(`${group.sort} ${group.title}`);
          return <GroupView key={own} scene={scene} group={group} whole={opened.get(own) ?? false} toggle={() => toggle(own, opened.get(own) ?? false)} />;
        })}
      {open && <More left={left} whole={whole} noun="value" toggle={() => toggle(key(""), whole)} />}
    </details>
  );
}

function Swatch({ colour }: { colour: number | undefined }) {
  return colour === undefined || colour < 0 ? null : <i class={`swatch actor-${colour}`} />;
}

interface GroupProps {
  scene: Scene;
  group: Group;
  whole: boolean;
  toggle: () => void;
}

function GroupView({ scene, group, whole, toggle }: GroupProps) {
  const moved = slotsOf(group).some((slot) => scene.changed.has(slot));
  return (
    <div class={`group ${group.sort}${moved ? " changed" : ""}`}>
      {group.title && (
        <h4 title={group.sentence || undefined}>{group.title}</h4>
      )}
      {group.sort === "table" ? (
        <TableView scene={scene} group={group} whole={whole} toggle={toggle} />
      ) : group.sort === "sequence" ? (
        <SequenceView scene={scene} group={group} />
      ) : (
        <CellsView scene={scene} group={group} whole={whole} toggle={toggle} />
      )}
    </div>
  );
}

function More({ left, whole, noun, toggle }: { left: number; whole: boolean; noun: string; toggle: () => void }) {
  if (left <= 0) return null;
  return (
    <button type="button" class="quiet more" aria-expanded={whole} onClick={toggle}>
      {whole ? `fold ${counted(left, noun)}` : counted(left, `more ${noun}`)}
    </button>
  );
}

function TableView({ scene, group, whole, toggle }: GroupProps & { group: Group & { sort: "table" } }) {
  const kept = unfolded(group.rows.map(({ slots }) => slots.some((slot) => scene.changed.has(slot))), FEW);
  return (
    <div class="scrolls">
      <table>
        <thead>
          <tr>
            <td />
            {group.columns.map((column) => (
              <th scope="col" key={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {group.rows.map(({ name, slots }, k) =>
            whole || kept.has(k) ? (
              <tr key={name}>
                <th scope="row">{name}</th>
                {slots.map((slot, c) => (
                  <td key={c}>{slot >= 0 && <Value scene={scene} cell={{ slot, name: "" }} />}</td>
                ))}
              </tr>
            ) : null,
          )}
        </tbody>
      </table>
      <More left={group.rows.length - kept.size} whole={whole} noun="row" toggle={toggle} />
    </div>
  );
}

function CellsView({ scene, group, whole, toggle }: GroupProps & { group: Group & { sort: "values" | "members" } }) {
  const { before, after, changed } = scene;
  const cells = group.sort === "members" ? group.cells.filter(({ slot }) => before[slot] || after[slot]) : group.cells;
  const kept = unfolded(cells.map(({ slot }) => changed.has(slot)), MANY);
  return (
    <div class="cells">
      {cells.map((cell, k) =>
        !whole && !kept.has(k) ? null : group.sort === "members" ? (
          <Member key={cell.slot} scene={scene} cell={cell} was={Boolean(before[cell.slot])} is={Boolean(after[cell.slot])} />
        ) : (
          <Value key={cell.slot} scene={scene} cell={cell} />
        ),
      )}
      {!cells.length && <span class="nothing">none</span>}
      <More left={cells.length - kept.size} whole={whole} noun="value" toggle={toggle} />
    </div>
  );
}

/** A sequence from its first item to its last one; what it lost stands at the end, crossed out. */
function SequenceView({ scene, group }: { scene: Scene; group: Group & { sort: "sequence" } }) {
  const { before, after } = scene;
  const [was, is] = [before[group.length] ?? 0, after[group.length] ?? 0];
  return (
    <div class="cells">
      {group.items.slice(0, Math.max(was, is)).map((fields, k) => (
        <span class={`item${k >= is ? " gone" : k >= was ? " new" : ""}`} key={k}>
          {fields.map((cell) => (
            <Value key={cell.slot} scene={scene} cell={cell} state={k >= is ? "gone" : k >= was ? "new" : ""} />
          ))}
        </span>
      ))}
      {!was && !is && <span class="nothing">empty</span>}
    </div>
  );
}

/** Show a slot's row in the state; once more shows all of the state again. */
function lookUp({ walker }: Scene, slot: number): void {
  const key = walker.tree.flatMap(({ rows }) => rows).find(({ fields }) => fields.some((field) => field.slot === slot))?.key ?? "";
  walker.store.set({ panel: "state", filter: walker.now.filter === key ? "" : key });
}

interface ValueProps {
  scene: Scene;
  cell: Cell;
  state?: "" | "new" | "gone"; // of an item that a sequence gained or lost
}

function Value({ scene, cell: { slot, name }, state = "" }: ValueProps) {
  const { before, after } = scene;
  const set = members(scene.walker.trace.model, scene.system.names, slot, before[slot] ?? 0, after[slot] ?? 0);
  const moved = state !== "" || scene.changed.has(slot);
  return (
    <Press scene={scene} slot={slot} moved={moved} gone={state === "gone"}>
      {name && <span class="name">{NUMBER.test(name) ? `${name}: ` : `${name} `}</span>}
      {set ? (
        <Chips set={set} colours={scene.colours} />
      ) : (
        <>
          {moved && !state && (
            <>
              <span class="was">
                <Text scene={scene} slot={slot} code={before[slot] ?? 0} />
              </span>
              <span class="becomes"> → </span>
            </>
          )}
          <Text scene={scene} slot={slot} code={(state === "gone" ? before : after)[slot] ?? 0} />
        </>
      )}
    </Press>
  );
}

/** A member of a set that is an array of booleans. */
function Member({ scene, cell, was, is }: ValueProps & { was: boolean; is: boolean }) {
  return (
    <Press scene={scene} slot={cell.slot} moved={was !== is} gone={!is}>
      <Swatch colour={scene.colours.get(cell.name)} />
      <Name name={cell.name} was={was} is={is} />
    </Press>
  );
}

/** A member of a set: what came has a plus, what went a minus. */
function Name({ name, was, is }: { name: string; was: boolean; is: boolean }) {
  if (was && is) return <>{name}</>;
  return is ? <>+ {name}</> : <s>− {name}</s>;
}

function Chips({ set, colours }: { set: { name: string; was: boolean; is: boolean }[]; colours: Scene["colours"] }) {
  if (!set.length) return <span class="empty">{"{}"}</span>;
  return (
    <>
      {set.map(({ name, was, is }) => (
        <span class={`chip${was !== is ? " moved" : ""}`} key={name}>
          <Swatch colour={colours.get(name)} />
          <Name name={name} was={was} is={is} />
        </span>
      ))}
    </>
  );
}

function Text({ scene, slot, code }: { scene: Scene; slot: number; code: number }) {
  const shown = shownText(scene, slot, code);
  return (
    <span class={EMPTY.has(shown) ? "is empty" : "is"}>
      <Swatch colour={scene.colours.get(shown)} />
      {shown}
    </span>
  );
}

const NUMBER = /^-?\d+$/; // a position, which a colon keeps apart from its value
const EMPTY = new Set(["no", "None", "0", "{}"]); // paler than other values

function shownText({ walker: { trace }, system }: Scene, slot: number, code: number): string {
  if (variableOf(trace.model, slot)?.type.sort === "bool") return code ? "yes" : "no";
  return slotText(trace.model, system.names, slot, code);
}

/** A value that a click shows in the state. Tab reaches those that changed. */
function Press({ scene, slot, moved, gone, children }: { scene: Scene; slot: number; moved: boolean; gone: boolean; children: ComponentChildren }) {
  const { walker, before, after, reads } = scene;
  const label = walker.trace.model.slots[slot]?.label ?? "";
  const [was, is] = [walker.text(slot, before[slot] ?? 0), walker.text(slot, after[slot] ?? 0)];
  const sentence = variableOf(walker.trace.model, slot)?.sentence;
  const told = `${label} ${moved && was !== is ? `was ${was} and ` : ""}is ${is}`;
  const classes = ["value", moved && "moved", gone && "gone", reads[slot] && "read"].filter(Boolean).join(" ");
  return (
    <button type="button" class={classes} tabIndex={moved ? 0 : -1} title={[told, sentence].filter(Boolean).join(": ")} aria-label={`${told}; show it in the state`} onClick={() => lookUp(scene, slot)}>
      {children}
    </button>
  );
}

/** The arrows of a step, over the gaps between boxes. They are measured after the boxes are placed. */
function Arrows({ stage, messages, fault }: { stage: { current: HTMLDivElement | null }; messages: readonly Message[]; fault: boolean }) {
  const [drawn, setDrawn] = useState<{ line: string; head: string; taken: boolean }[]>([]);
  useLayoutEffect(() => {
    const next = stage.current ? placed(stage.current, messages) : [];
    if (JSON.stringify(next) !== JSON.stringify(drawn)) setDrawn(next);
  });
  return (
    <svg class={`arrows${fault ? " fault" : ""}`} aria-hidden="true">
      {drawn.map(({ line, head, taken }) => (
        <g class={taken ? "arrow taken" : "arrow"} key={line}>
          <path class="line" d={line} />
          <path class="head" d={head} />
        </g>
      ))}
    </svg>
  );
}

function placed(stage: HTMLElement, messages: readonly Message[]): { line: string; head: string; taken: boolean }[] {
  const origin = stage.getBoundingClientRect();
  const boxes = new Map<string, Rect>();
  for (const box of stage.querySelectorAll<HTMLElement>("[data-part]")) {
    const { left, top, right, bottom } = box.getBoundingClientRect();
    boxes.set(box.dataset["part"] ?? "", { left: left - origin.left, top: top - origin.top, right: right - origin.left, bottom: bottom - origin.top });
  }
  const top = Math.min(...[...boxes.values()].map((box) => box.top));
  return messages.flatMap(({ from, to, taken }) => {
    const [start, end] = [boxes.get(from), boxes.get(to)];
    if (!start || !end) return [];
    const corners = route(start, end, top, taken ? BESIDE : 0);
    const [x = 0, y = 0] = corners.at(-1) ?? [];
    const back = x > (corners.at(-2)?.[0] ?? 0) ? -8 : 8;
    return [{ line: corners.map(([cx, cy], k) => `${k ? "L" : "M"}${Math.round(cx)} ${Math.round(cy)}`).join(" "), head: `M${Math.round(x)} ${Math.round(y)}l${back} -5v10z`, taken }];
  });
}
