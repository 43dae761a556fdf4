// A known hazard: its scenario step by step with the facts after each, the cause, and the counterexamples of its properties.

import { useEffect, useState } from "preact/hooks";
import type { HazardDocument } from "../document";
import { doing, HAZARD_KEYS } from "../keys";
import type { Request } from "../live";
import { Head } from "./head";
import { Help } from "./help";
import { Commands } from "./property";
import { useKeys } from "./use";

interface Props {
  hazard: HazardDocument;
  home?: (() => void) | undefined;
  open?: ((request: Request) => void) | undefined; // of a served page
}

export function HazardPage({ hazard, home, open }: Props) {
  const [at, setAt] = useState(0);
  const [help, setHelp] = useState(false);
  const last = hazard.steps.length - 1;
  useKeys(
    doing({
      ArrowDown: () => setAt((now) => Math.min(last, now + 1)),
      j: () => setAt((now) => Math.min(last, now + 1)),
      ArrowUp: () => setAt((now) => Math.max(0, now - 1)),
      k: () => setAt((now) => Math.max(0, now - 1)),
      Home: () => setAt(0),
      End: () => setAt(last),
      h: () => home?.(),
      "?": () => setHelp(true),
    }),
  );
  useEffect(() => document.getElementById(`scenario-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <div class="page scrolling">
      <Head title={hazard.title} sentence={hazard.sentence} about={hazard.profile} home={home} help={() => setHelp(true)} />
      <div class="document">
        <h2>
          Scenario <span class="count">{hazard.steps.length} steps on a simulated cluster</span>
        </h2>
        <ol class="scenario">
          {hazard.steps.map((step, k) => (
            <li id={`scenario-${k}`} key={k} class={k === at ? "current" : ""} onClick={() => setAt(k)} aria-current={k === at ? "step" : undefined}>
              <p>{step.text}</p>
              {step.facts.length > 0 && (
                <dl class="facts">
                  {step.facts.map(([what, found]) => (
                    <div key={what}>
                      <dt>{what}</dt>
                      <dd>{found}</dd>
                    </div>
                  ))}
                </dl>
              )}
            </li>
          ))}
        </ol>
        {hazard.finding && (
          <p class="verdict bad">
            <b>not as described</b> {hazard.finding}
          </p>
        )}
        <h2>Cause and remedy</h2>
        {hazard.about.map((paragraph) => (
          <p class="sentence" key={paragraph}>
            {paragraph}
          </p>
        ))}
        <h2>Counterexamples</h2>
        {hazard.properties.map((one) => (
          <div class="card belongs" key={one.id}>
            <b>{one.id}</b> {one.sentence}
            {one.case && (
              <span class="path">
                {[one.case.profile, one.case.scope, one.case.condition].filter(Boolean).join(" · ")}
              </span>
            )}
            {one.case && open && (
              <button type="button" onClick={() => one.case && open({ property: one.id, ...one.case })}>
                find the shortest trace
              </button>
            )}
            {one.page && (
              <a href={one.page}>
                walk through the trace
              </a>
            )}
            {!one.case && <span class="path">no search of a model violates it</span>}
          </div>
        ))}
        {!hazard.properties.length && <p class="nothing">No property of the catalogue belongs to this hazard.</p>}
        <h2>Rules</h2>
        <dl class="rules">
          {hazard.rules.map(([id, sentence]) => (
            <div key={id}>
              <dt>{id}</dt>
              <dd>{sentence}</dd>
            </div>
          ))}
        </dl>
        <Commands commands={hazard.commands} />
      </div>
      {help && <Help close={() => setHelp(false)} sections={[HAZARD_KEYS]} />}
    </div>
  );
}
