// Where the served page begins without a document: a known hazard, a witness, a property and its case, or a scope to walk in freely.

import { useRef, useState } from "preact/hooks";
import type { Case, Catalogue, Hazard } from "../document";
import { doing, leaveSearch, START_KEYS } from "../keys";
import type { Request } from "../live";
import { matches } from "../search";
import { Head } from "./head";
import { Help } from "./help";
import { useKeys } from "./use";

interface Props {
  catalogue: Catalogue;
  version: string;
  error: string;
  open: Opener;
}

/** Opens what is requested; the page stays until it is there. Throws why it cannot be. */
export type Opener = (request: Request, progress: (text: string) => void, signal?: AbortSignal) => Promise<void>;

export function StartPage({ catalogue, version, error, open }: Props) {
  const [query, setQuery] = useState("");
  const [busy, setBusy] = useState("");
  const [message, setMessage] = useState(error);
  const cancel = useRef<AbortController | null>(null);
  const search = useRef<HTMLInputElement>(null);
  const [help, setHelp] = useState(false);
  useKeys(doing({ "/": () => search.current?.focus(), "?": () => setHelp(true) }));

  const ask = async (request: Request): Promise<void> => {
    cancel.current?.abort();
    const control = new AbortController();
    cancel.current = control;
    setMessage("");
    setBusy("beginning");
    try {
      await open(request, setBusy, control.signal);
    } catch (problem) {
      if (!control.signal.aborted) setMessage(problem instanceof Error ? problem.message : String(problem));
    } finally {
      if (cancel.current === control) setBusy("");
    }
  };

  const properties = violatedFirst(catalogue.properties.filter((one) => matches(query, one.id, one.sentence)));
  const hazards = catalogue.hazards.filter((one) => matches(query, one.id, one.title, ...one.properties, ...one.steps));
  const witnesses = catalogue.witnesses.filter((one) => matches(query, one.title, one.path));
  return (
    <div class="page scrolling start">
      <Head title="rocketproof" sentence="Choose a known hazard, a counterexample of the folder, a property to check, or a scope." about={version} help={() => setHelp(true)} />
      {message && (
        <div class="message" role="alert">
          <span>{message}</span>
          <button type="button" class="quiet" onClick={() => setMessage("")}>
            close
          </button>
        </div>
      )}
      {busy && (
        <div class="progress" role="status">
          <progress aria-label="working" /> <span>{busy}</span>
          <button
            type="button"
            onClick={() => {
              cancel.current?.abort();
              setBusy("");
            }}
          >
            stop
          </button>
        </div>
      )}
      <div class="choose">
        <input type="search" class="filter" ref={search} value={query} placeholder="search: LIV-03, crash, template… ( / )" aria-label="Search" onKeyDown={leaveSearch(() => setQuery(""))} onInput={(event) => setQuery(event.currentTarget.value)} />
        {hazards.length > 0 && (
          <section>
            <h2>
              Known hazards <span class="count">{hazards.length}</span>
            </h2>
            <div class="hazards">
              {hazards.map((one) => (
                <HazardCard key={one.id} hazard={one} ask={ask} />
              ))}
            </div>
          </section>
        )}
        {witnesses.length > 0 && (
          <section>
            <h2>
              Counterexamples of the folder <span class="count">{witnesses.length}</span>
            </h2>
            {witnesses.slice(0, MOST).map((one) => (
              <button type="button" class="card" key={one.id} onClick={() => void ask({ witness: one.id })}>
                <b>{one.title}</b>
                <span class="path">{one.path}</span>
              </button>
            ))}
            {witnesses.length > MOST && <p class="nothing">and {witnesses.length - MOST} more: search for one</p>}
          </section>
        )}
        <section>
          <h2>
            Properties <span class="count">{properties.length}</span>
          </h2>
          {properties.map((one) => (
            <PropertyCard key={one.id} {...one} ask={ask} />
          ))}
          {!properties.length && <p class="nothing">No property has “{query}” in its id or its sentence.</p>}
        </section>
        {catalogue.scopes.length > 0 && (
          <section>
            <h2>Scopes to walk in freely</h2>
            <Scopes catalogue={catalogue} ask={ask} />
          </section>
        )}
      </div>
      {help && <Help close={() => setHelp(false)} sections={[START_KEYS]} />}
    </div>
  );
}

const MOST = 60; // counterexamples that are listed without a search

/** A hazard opens its scenario; the card tells the scenario's steps. */
function HazardCard({ hazard, ask }: { hazard: Hazard; ask: Ask }) {
  const { id, title, profile, properties, steps } = hazard;
  return (
    <div class="card hazard">
      <button type="button" class="quiet opens" onClick={() => void ask({ hazard: id, profile })}>
        <b>{id}</b> {title}
      </button>
      <details>
        <summary>
          scenario <span class="count">{steps.length} {steps.length === 1 ? "step" : "steps"}</span>
          {properties.length > 0 && <span class="path">{[...properties, profile].join(" · ")}</span>}
        </summary>
        <ol>
          {steps.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ol>
      </details>
    </div>
  );
}

/** Those with a counterexample first, each group in the catalogue's order. */
function violatedFirst(properties: Catalogue["properties"]): Catalogue["properties"] {
  const violated = (one: Catalogue["properties"][number]): boolean => one.cases.some((each) => each.expected === "violated");
  return [...properties.filter(violated), ...properties.filter((one) => !violated(one))];
}

type Ask = (request: Request) => Promise<void>;

function PropertyCard({ id, sentence, cases, ask }: Catalogue["properties"][number] & { ask: Ask }) {
  const open = (one: Case): void => void ask({ property: id, profile: one.profile, scope: one.scope, condition: one.condition });
  const violated = cases.filter((one) => one.expected === "violated").length;
  return (
    <details class="card">
      <summary>
        <b>{id}</b> {sentence}
        {violated > 0 && (
          <span class="count">
            violated in {violated} of {cases.length}
          </span>
        )}
      </summary>
      {[...rowsOf(cases)].map(([name, row]) => (
        <div class="cases" key={name}>
          <span class="case">{name}</span>
          {row.map((one) => (
            <button type="button" key={one.profile} onClick={() => open(one)} class={one.expected}>
              {one.profile || "check"} <span class="expected">{one.expected}</span>
            </button>
          ))}
        </div>
      ))}
    </details>
  );
}

/** The cases of a condition and a scope in a row, one for each profile. */
function rowsOf(cases: readonly Case[]): Map<string, Case[]> {
  const rows = new Map<string, Case[]>();
  for (const one of cases) {
    const name = [one.condition, one.scope].filter(Boolean).join(" · ");
    rows.set(name, [...(rows.get(name) ?? []), one]);
  }
  return rows;
}

function Scopes({ catalogue, ask }: { catalogue: Catalogue; ask: Ask }) {
  const profiles = [...new Set(catalogue.properties.flatMap((one) => one.cases.map((each) => each.profile)))].filter(Boolean).sort();
  const [profile, setProfile] = useState(profiles.find((one) => one === "P49") ?? profiles[0] ?? "");
  return (
    <>
      {profiles.length > 0 && (
        <label>
          profile{" "}
          <select value={profile} onChange={(event) => setProfile(event.currentTarget.value)}>
            {profiles.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      )}
      {catalogue.scopes.map((scope) => (
        <button type="button" class="card" key={scope.name} onClick={() => void ask({ scope: scope.name, profile })}>
          <b>{scope.name}</b> {scope.about}
        </button>
      ))}
    </>
  );
}
