// What can happen in this state, and what cannot and why: the guard that refuses, its sentence, its values.

import { sameMove } from "../branches";
import type { Action, Actors, Choice, Refused } from "../document";
import { matches } from "../search";
import { changedRows } from "../tree";
import type { Walker } from "../walker";
import { useStore } from "./use";

const FEW = 8; // refused instances of an action that are shown when it is opened
const FEW_CHOICES = 4; // enabled instances of an action that are shown without opening it

export function ActionsPanel({ walker }: { walker: Walker }) {
  const state = useStore(walker.store);
  const options = walker.options();
  const asked = state.asked;
  const actions = new Map(walker.trace.model.actions.map((action) => [action.name, action]));
  const sentence = (name: string): string => actions.get(name)?.sentence ?? "";
  const enabled = (options?.enabled ?? []).filter((one) => matches(asked, one.label, one.sentence ?? "", sentence(one.action), one.by, one.to ?? ""));
  const refused = grouped((options?.refused ?? []).filter((one) => matches(asked, one.label, sentence(one.action), one.guard, one.sentence)));
  const more = options?.more ?? [];
  const next = walker.next()?.step;

  return (
    <div class="actions-panel">
      <div class="tools">
        <input
          type="search"
          class="filter"
          placeholder="filter: action, guard, actor"
          aria-label="Filter the actions"
          value={asked}
          onInput={(event) => walker.store.set({ asked: event.currentTarget.value })}
        />
      </div>
      <h3>
        can happen now <span class="count">{enabled.length}</span>
      </h3>
      {[...grouped(enabled)].map(([name, group]) => {
        const taken = group.find((choice) => sameMove(next, choice));
        const some = taken === undefined ? group : [taken, ...group.filter((one) => one !== taken)];
        return <ChoicesView key={name} walker={walker} choices={some} action={actions.get(name)} taken={taken} open={group.length <= FEW_CHOICES || asked !== ""} />;
      })}
      {options && !enabled.length && <p class="nothing">{asked ? "No action of this name can happen here." : "Nothing can happen here any more."}</p>}
      {!options && <p class="nothing">{walker.stuck}</p>}
      <h3>
        cannot happen now, and why <span class="count">{refused.size}</span>
      </h3>
      {[...refused].map(([name, group]) => (
        <RefusedView key={name} name={name} action={actions.get(name)} group={group} open={asked !== "" && refused.size <= 3} more={more.filter((one) => one.action === name)} />
      ))}
    </div>
  );
}

function grouped<T extends { action: string }>(all: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(one.action, [...(groups.get(one.action) ?? []), one]);
  return groups;
}

interface ChoicesProps {
  walker: Walker;
  choices: Choice[];
  action: Action | undefined;
  taken: Choice | undefined;
  open: boolean;
}

/** The instances of one action: its sentence once, then a button for each. Many are folded, except the one that the trace takes. */
function ChoicesView({ walker, choices, action, taken, open }: ChoicesProps) {
  const shown = open ? choices : choices.filter((choice) => choice === taken);
  const rest = choices.filter((choice) => !shown.includes(choice));
  return (
    <div class={`choice${taken ? " taken" : ""}`}>
      <p class="sentence">{action?.sentence}</p>
      {shown.map((choice) => (
        <ChoiceView key={choice.label} walker={walker} choice={choice} taken={choice === taken} />
      ))}
      {rest.length > 0 && (
        <details>
          <summary>
            <span class="label">{action?.name}</span> <span class="count">{rest.length} {taken ? "other ways" : "ways"}</span>
          </summary>
          {rest.map((choice) => (
            <ChoiceView key={choice.label} walker={walker} choice={choice} taken={false} />
          ))}
        </details>
      )}
    </div>
  );
}

function ChoiceView({ walker, choice, taken }: { walker: Walker; choice: Choice; taken: boolean }) {
  const state = walker.path.states[walker.now.walk.at] ?? [];
  const codes = new Map(choice.effect);
  return (
    <div class={taken ? "instance taken" : "instance"}>
      <button
        type="button"
        class="follow"
        title={taken ? "walk on" : "go on with this on a branch"}
        onClick={() => walker.follow(choice)}
      >
        <span class="told">
          {choice.sentence && <span class="sentence">{choice.sentence}</span>} <span class="label">{choice.label}</span>
        </span>
        <span class="word">{taken ? "next step" : "what if"}</span>
      </button>
      <p class="effect">
        <Who {...choice} />
        {choice.error && <span class="error">it has no meaning here: {choice.error}</span>}
        {changedRows(walker.tree, [...codes.keys()].sort((a, b) => a - b)).map(({ row, fields }) => (
          <span key={row.key}>
            {row.key}: {fields.map(({ slot, name }) => `${name ? `${name} ` : ""}${walker.text(slot, state[slot] ?? 0)} → ${walker.text(slot, codes.get(slot) ?? 0)}`).join(", ")}
          </span>
        ))}
        {!codes.size && !choice.error && <span>changes nothing</span>}
      </p>
    </div>
  );
}

/** Who acts, and who is on the other side. */
export function Who({ by, to, from }: Actors) {
  if (!by && !to && !from) return null;
  return (
    <span class="who">
      <b>{by}</b>
      {to && to !== by && <b> → {to}</b>}
      {from && from !== by && ` takes what ${from} sent`}
    </span>
  );
}

interface Group {
  name: string;
  action: Action | undefined;
  group: Refused[];
  open: boolean;
  more: { guard: string; count: number }[];
}

function RefusedView({ name, action, group, open, more }: Group) {
  const guards = new Map(group.map((one) => [one.guard, one]));
  const left = more.reduce((sum, one) => sum + one.count, 0) + Math.max(0, group.length - FEW);
  return (
    <details class="refused" open={open}>
      <summary>
        <span class="label">{name}</span>
        <span class="why">needs: {[...guards.values()].map((one) => one.sentence || one.guard).join("; or: ")}</span>
      </summary>
      {action && <p class="sentence">{action.sentence}</p>}
      {group.slice(0, FEW).map((one) => (
        <div class="instance" key={one.label}>
          <p>
            <span class="label">{one.label}</span>
          </p>
          <p class="guard">
            refused by <b>{one.guard}</b>, which needs: {one.sentence} {one.bound && <span class="tag">a bound of the scope, not a rule</span>}
          </p>
          {one.part && <p class="formula">{one.part} is false</p>}
          {one.error && <p class="error">it has no value: {one.error}</p>}
          <Values values={one.values} />
        </div>
      ))}
      {left > 0 && <p class="nothing">and {left} more like these</p>}
    </details>
  );
}

export function Values({ values }: { values: readonly [string, string][] }) {
  if (!values.length) return null;
  return (
    <dl class="values">
      {values.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt> = <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
