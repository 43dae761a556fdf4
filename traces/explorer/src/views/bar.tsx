// The head of a trace: the shared head, and below it views, branches, search and an expression to evaluate.

import { useState, type MutableRef } from "preact/hooks";
import type { View } from "../place";
import type { Walker } from "../walker";
import { NEEDS_SERVER } from "../walker";
import { Head } from "./head";
import { Labels } from "./labels";
import { useStore } from "./use";

const VIEWS: { view: View; name: string; key: string }[] = [
  { view: "trace", name: "Trace", key: "Esc" },
  { view: "system", name: "System", key: "v" },
  { view: "compare", name: "Compare", key: "c" },
  { view: "graph", name: "State graph", key: "m" },
];

interface Props {
  walker: Walker;
  search: MutableRef<HTMLInputElement | null>;
  expression: MutableRef<HTMLInputElement | null>;
  help: () => void;
  home: (() => void) | undefined;
}

export function Bar({ walker, search, expression, help, home }: Props) {
  const state = useStore(walker.store);
  const { trace } = walker;
  const { subject } = trace;
  const about = [subject.model, subject.profile, subject.scope, subject.condition].filter(Boolean).join(" · ");
  return (
    <Head title={trace.title} sentence={trace.property.sentence} about={about} home={home} run={trace.run} help={help}>
      <nav class="tools" aria-label="Tools">
        <span class="group" role="group" aria-label="Views">
          {VIEWS.map(({ view, name, key }) => (
            <button
              type="button"
              key={view}
              aria-pressed={state.view === view}
              aria-disabled={view === "graph" && !walker.served}
              title={view === "graph" && !walker.served ? NEEDS_SERVER : `key ${key}`}
              onClick={() => walker.show(view)}
            >
              {name}
            </button>
          ))}
        </span>
        <button type="button" aria-pressed={state.unfolded} onClick={() => walker.toggleFolds()} title="key f">
          all steps
        </button>
        <Paths walker={walker} />
        <span class="group search">
          <input
            ref={search}
            type="search"
            value={state.query}
            placeholder="search the steps ( / )"
            title="words, and actor: action: variable: truth:"
            aria-label="Search the steps"
            onInput={(event) => walker.search(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Enter" && walker.nextInteresting(event.shiftKey ? -1 : 1)}
          />
          {state.hits && (
            <>
              <span class="count" role="status">
                {state.hits.size} found
              </span>
              <label>
                <input type="checkbox" checked={state.onlyHits} onChange={() => walker.store.set({ onlyHits: !state.onlyHits })} /> only these
              </label>
            </>
          )}
        </span>
        <Evaluate walker={walker} input={expression} />
      </nav>
    </Head>
  );
}

/** The trace and its branches: which one is walked, keep it, leave it out, undo. */
function Paths({ walker }: { walker: Walker }) {
  const { walk, undo } = useStore(walker.store);
  const [name, setName] = useState<string | null>(null);
  const path = walker.path;
  const save = (): void => {
    walker.keep(name ?? path.name);
    setName(null);
  };
  if (walk.paths.length === 1 && !undo.past.length && !undo.future.length) return null;
  return (
    <span class="group paths" role="group" aria-label="Branches">
      <select aria-label="Which branch is walked" value={walk.current} onChange={(event) => walker.choosePath(Number(event.currentTarget.value))}>
        {walk.paths.map((one, k) => (
          <option value={k} key={k}>
            {k === 0 ? "the trace" : `${one.name}${one.kept ? "" : " (not kept)"}`}
          </option>
        ))}
      </select>
      <button type="button" onClick={() => walker.undo()} aria-disabled={!undo.past.length} title="undo (u)">
        undo
      </button>
      <button type="button" onClick={() => walker.redo()} aria-disabled={!undo.future.length} title="do it again (r)">
        redo
      </button>
      {walk.current > 0 && name === null && (
        <>
          <button type="button" onClick={() => setName(path.name)} title="give it a name; it stands in the page's address">
            {path.kept ? "rename" : "keep"}
          </button>
          <button type="button" onClick={() => walker.discard(walk.current)}>
            discard
          </button>
        </>
      )}
      {name !== null && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <input ref={(box) => box?.focus()} aria-label="Name of the branch" value={name} onInput={(event) => setName(event.currentTarget.value)} />
          <button type="submit">keep</button>
        </form>
      )}
    </span>
  );
}

function Evaluate({ walker, input }: { walker: Walker; input: MutableRef<HTMLInputElement | null> }) {
  const { columns } = useStore(walker.store);
  const [text, setText] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!text.trim() || !walker.evaluate(text.trim())) return;
    setText("");
    input.current?.blur(); // the keys walk again
  };
  return (
    <form class="group evaluate" onSubmit={submit}>
      <input
        ref={input}
        list="values"
        value={text}
        placeholder="evaluate each step ( e )"
        aria-label="Expression to evaluate at each state"
        title="its value stands beside each step"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Labels id="values" model={walker.trace.model} />
      {columns.map(({ expression, type }) => (
        <button type="button" class="column" key={expression} title={`${type}; click to take it away`} onClick={() => walker.dropColumn(expression)}>
          {expression} ×
        </button>
      ))}
    </form>
  );
}
