// Two traces side by side: what they have in common is folded, the first difference stands out, and two states can be held against each other.

import { useEffect, useMemo, useState } from "preact/hooks";
import { align, type Pair } from "../align";
import { sidesOf, type Given, type Side } from "../compare";
import { documentOfFile } from "../document";
import { typing } from "../keys";
import { matches } from "../search";
import type { Other } from "../state";
import { textOf, type Walker } from "../walker";
import { counted } from "../values";
import { Told } from "./steps";
import { TruthWord } from "./truth";
import { useKeys, useStore } from "./use";

const BEFORE = 2; // pairs shown before the first difference
const MOST = 60; // counterexamples that are offered without a search

export function Compare({ walker }: { walker: Walker }) {
  const { walk, other } = useStore(walker.store);
  const left = given(walker, walk.current);
  const right = otherSide(walker, other);
  return (
    <div class="compare">
      <div class="tools">
        <label>
          left{" "}
          <select value={walk.current} onChange={(event) => walker.choosePath(Number(event.currentTarget.value))}>
            {walk.paths.map((path, k) => (
              <option value={k} key={k}>
                {path.name || "the trace"}
              </option>
            ))}
          </select>
        </label>
        <label>
          right{" "}
          <select
            value={right ? (other && "trace" in other ? "file" : right.name) : ""}
            onChange={(event) => walker.compareWith({ path: event.currentTarget.value === "the trace" ? "" : event.currentTarget.value })}
          >
            {!right && <option value="">…</option>}
            {other && "trace" in other && <option value="file">{other.name}</option>}
            {walk.paths.map((path) => (
              <option value={path.name || "the trace"} key={path.name}>
                {path.name || "the trace"}
              </option>
            ))}
          </select>
        </label>
        {right && walker.witnesses.length > 0 && (
          <label>
            or a witness{" "}
            <select value="" onChange={(event) => void walker.compareWitness(event.currentTarget.value)}>
              <option value="">…</option>
              {walker.witnesses.map((one) => (
                <option value={one.id} key={one.id}>
                  {one.title}
                </option>
              ))}
            </select>
          </label>
        )}
        {right && <FileChoice walker={walker} />}
      </div>
      {right ? <Pairs key={`${left.name} ${right.name}`} left={left} right={right} /> : <Choose walker={walker} />}
    </div>
  );
}

function FileChoice({ walker }: { walker: Walker }) {
  return (
    <label class="file">
      another page or document: <input type="file" accept=".html,.json" onChange={(event) => void opened(walker, event.currentTarget)} />
    </label>
  );
}

/** What this trace can be compared with: its branches, the counterexamples of the folder, and files. */
function Choose({ walker }: { walker: Walker }) {
  const [query, setQuery] = useState("");
  const { walk } = walker.now;
  const branches = walk.paths.filter((_, k) => k !== walk.current);
  const witnesses = walker.witnesses.filter((one) => matches(query, one.title, one.path));
  return (
    <div class="choose-trace">
      <h2>Compare this trace with</h2>
      {branches.map((path) => (
        <button type="button" class="card" key={path.name} onClick={() => walker.compareWith({ path: path.name })}>
          {path.name || "the trace"}
        </button>
      ))}
      {!branches.length && <p class="nothing">a branch of it: choose “what if” in the actions first (w)</p>}
      <FileChoice walker={walker} />
      {walker.witnesses.length > 0 && (
        <>
          <h3>
            counterexamples of the folder <span class="count">{witnesses.length}</span>
          </h3>
          <input type="search" class="filter" value={query} placeholder="search: LIV-03, crash…" aria-label="Search the counterexamples" onInput={(event) => setQuery(event.currentTarget.value)} />
          {witnesses.slice(0, MOST).map((one) => (
            <button type="button" class="card" key={one.id} onClick={() => void walker.compareWitness(one.id)}>
              <b>{one.title}</b>
            </button>
          ))}
          {witnesses.length > MOST && <p class="nothing">and {witnesses.length - MOST} more: search for one</p>}
        </>
      )}
    </div>
  );
}

function given(walker: Walker, which: number): Given {
  const path = walker.now.walk.paths[which] ?? walker.path;
  return { name: path.name || "the trace", trace: walker.trace, path };
}

/** What was chosen; else the branch that is not walked. */
function otherSide(walker: Walker, other: Other | null): Given | null {
  const { walk } = walker.now;
  if (other && "trace" in other) return { name: other.name, trace: other.trace, path: other.trace };
  const which = other ? walk.paths.findIndex((path) => path.name === other.path) : walk.paths.findIndex((_, k) => k !== walk.current);
  return which < 0 ? null : given(walker, which);
}

async function opened(walker: Walker, input: HTMLInputElement): Promise<void> {
  const file = input.files?.[0];
  if (!file) return;
  try {
    const found = documentOfFile(await file.text());
    if (found.kind !== "trace") throw new Error("it holds no trace, and only traces are compared");
    walker.compareWith({ trace: found, name: found.title === walker.trace.title ? file.name : found.title });
  } catch (error) {
    walker.say(`${file.name}: ${textOf(error)}`);
  } finally {
    input.value = ""; // so that the same file can be opened again
  }
}

function Pairs({ left, right }: { left: Given; right: Given }) {
  const sides = useMemo(() => sidesOf(left, right), [left.path, right.path]);
  const { pairs, first } = useMemo(() => align(sides.left, sides.right), [sides]);
  const [at, setAt] = useState(first ?? 0);
  const [open, setOpen] = useState(false);
  const hidden = open || first === null ? 0 : Math.max(0, first - BEFORE);

  useKeys((event) => {
    if (typing(event)) return;
    const way = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (way) setAt((now) => Math.max(hidden, Math.min(pairs.length - 1, now + way)));
    else if (event.key === "n" && first !== null) setAt((now) => nextDifference(pairs, now));
    else return;
    event.preventDefault();
  });

  useEffect(() => document.getElementById(`pair-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);

  return (
    <div class="two">
      <div class="pairs" role="listbox" tabIndex={0} aria-label="Steps of both traces">
        <div class="pair head">
          <span class="side">{sides.left.name}</span>
          <span class="side">{sides.right.name}</span>
        </div>
        {hidden > 0 && (
          <button type="button" class="quiet alike" onClick={() => setOpen(true)}>
            ▸ {counted(hidden, "state")} alike
          </button>
        )}
        {pairs.slice(hidden).map((pair, k) => {
          const number = hidden + k;
          const differs = pair.left === null || pair.right === null;
          return (
            <div
              id={`pair-${number}`}
              key={number}
              role="option"
              aria-selected={number === at}
              class={`pair${number === at ? " current" : ""}${number === first ? " first" : ""}${differs ? " differs" : ""}`}
              onClick={() => setAt(number)}
            >
              <SideView side={sides.left} k={pair.left} />
              <SideView side={sides.right} k={pair.right} />
            </div>
          );
        })}
      </div>
      <aside class="panel">
        <h2>{first === null ? "The two are alike." : `They part at state ${pairs[first]?.left ?? pairs[first]?.right}.`}</h2>
        <Difference shared={sides.shared} left={sides.left} right={sides.right} pairs={pairs} at={at} />
      </aside>
    </div>
  );
}

function nextDifference(pairs: readonly Pair[], now: number): number {
  const next = pairs.findIndex((pair, k) => k > now && !pair.same);
  return next < 0 ? now : next;
}

function SideView({ side, k }: { side: Side; k: number | null }) {
  if (k === null) return <span class="side none" />;
  const step = side.steps[k - 1];
  return (
    <span class="side">
      <span class="number">{k}</span>
      <span class="what">{step ? <Told step={step} /> : "initial state"}</span>
      <TruthWord truth={side.truths[k]} />
    </span>
  );
}

interface DifferenceProps {
  shared: string[];
  left: Side;
  right: Side;
  pairs: readonly Pair[];
  at: number;
}

/** What differs between the two states of a pair; a side without a state there still stands in the one before. */
function Difference({ shared, left, right, pairs, at }: DifferenceProps) {
  const stands = (which: "left" | "right"): number => {
    for (let k = at; k >= 0; k--) {
      const found = pairs[k]?.[which];
      if (found !== null && found !== undefined) return found;
    }
    return 0;
  };
  const here = { left: stands("left"), right: stands("right") };
  const one = left.states[here.left] ?? [];
  const other = right.states[here.right] ?? [];
  const rows = shared.flatMap((label, k) => (one[k] === other[k] ? [] : [{ label, left: one[k], right: other[k] }]));
  return (
    <>
      <h3>
        state {here.left} of {left.name}, state {here.right} of {right.name} <span class="count">{counted(rows.length, "difference")}</span>
      </h3>
      {rows.length ? (
        <table class="difference">
          <thead>
            <tr>
              <th scope="col">value</th>
              <th scope="col">{left.name}</th>
              <th scope="col">{right.name}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.label}>
                <th scope="row">{row.label}</th>
                <td>{row.left}</td>
                <td>{row.right}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p class="nothing">These two states are the same.</p>
      )}
    </>
  );
}
