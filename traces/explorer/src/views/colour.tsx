// By what the states of the graph are coloured: an expression to type, and what each colour stands for.

import { useState } from "preact/hooks";
import type { Walker } from "../walker";
import { Labels } from "./labels";
import { useStore } from "./use";

/** The name of a colour in the style sheet. */
export function swatch(colour: number): string {
  return colour < 0 ? "--faded" : `--value-${colour}`;
}

export function Colour({ walker }: { walker: Walker }) {
  const { colouring } = useStore(walker.store);
  const [text, setText] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.trim()) walker.colourGraph(text.trim());
  };
  return (
    <div class="colouring">
      <form onSubmit={submit}>
        <input list="graph-values" value={text} placeholder="colour by an expression" aria-label="Expression to colour the states by" title="one colour for each value it has" onInput={(event) => setText(event.currentTarget.value)} />
        <Labels id="graph-values" model={walker.trace.model} />
        {colouring && (
          <button type="button" onClick={() => walker.store.set({ colouring: null })}>
            by truth
          </button>
        )}
      </form>
      {colouring && (
        <dl class="legend" aria-label={`Colours by ${colouring.expression}`}>
          <dt class="formula">{colouring.expression}</dt>
          {colouring.shades.map(({ text, count, colour }) => (
            <dd key={text}>
              <i style={{ background: `var(${swatch(colour)})` }} /> <span class="formula">{text}</span> <span class="count">{count.toLocaleString("en")}</span>
            </dd>
          ))}
        </dl>
      )}
    </div>
  );
}
