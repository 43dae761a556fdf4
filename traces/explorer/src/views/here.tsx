// Where one stands: the step that led here, in words, and the property's truth with the part that decides it.

import type { Walker } from "../walker";
import { Values, Who } from "./actions";
import { toneOf } from "./truth";
import { useStore } from "./use";

export function Here({ walker }: { walker: Walker }) {
  const { walk } = useStore(walker.store);
  const path = walker.path;
  const step = path.steps[walk.at - 1];
  const truth = path.truths[walk.at];
  const action = step && walker.action(step.action);
  const last = path.states.length - 1;
  return (
    <header class="here" aria-live="polite">
      <div class="where">
        <span class="step-number">
          step {walk.at} of {last}
          {path.loop !== null && walk.at > path.loop && " · in the loop"}
          {path.name && ` · ${path.name}`}
        </span>
        <span class="turn">
          <button type="button" onClick={() => walker.single(-1)} aria-disabled={walk.at === 0} aria-label="one step back">
            ←
          </button>
          <button type="button" onClick={() => walker.single(1)} aria-disabled={walk.at === last} aria-label="one step on">
            →
          </button>
        </span>
      </div>
      {step ? (
        <>
          <h2>{step.sentence || step.label}</h2>
          <p class="action">
            <span class="label">{step.label}</span>
            {action?.rules.map((rule) => (
              <span class="rule" key={rule}>
                {rule}
              </span>
            ))}
          </p>
          <p class="sentence">
            <Who {...step} />
            {step.by && ": "}
            {action?.sentence}
          </p>
        </>
      ) : (
        <>
          <h2>{last ? "initial state" : "the only state"}</h2>
          <p class="sentence">{walker.trace.property.sentence}</p>
        </>
      )}
      {truth?.word && (
        <div class={`verdict ${toneOf(truth)}`}>
          <span class="id">{walker.trace.property.id || "the property"}</span> <b>{truth.word}</b>
          {(truth.part || truth.bad) && <span class="formula">{truth.part || walker.trace.property.formula}</span>}
          <Values values={truth.values} />
        </div>
      )}
    </header>
  );
}
