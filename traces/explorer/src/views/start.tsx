// Where the served page begins without a document: a known hazard, a witness, a property and its case, or a scope to walk in freely.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Case, Catalogue, Document } from "../document";
import type { Request, Server } from "../live";
import { requestText } from "../opened";
import { matches } from "../search";
import { toggleTheme } from "../theme";
import { textOf } from "../walker";

interface Props {
  server: Server;
  catalogue: Catalogue;
  version: string;
  error: string;
  open: (document: Document, opened: string) => void;
}

export function StartPage({ server, catalogue, version, error, open }: Props) {
  const [query, setQuery] = useState("");
  const [busy, setBusy] = useState("");
  const [message, setMessage] = useState(error);
  const cancel = useRef<AbortController | null>(null);
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => search.current?.focus(), []);

  const ask = async (request: Request): Promise<void> => {
    cancel.current?.abort();
    const control = new AbortController();
    cancel.current = control;
    setMessage("");
    setBusy("beginning");
    try {
      open(await server.open(request, setBusy, control.signal), requestText(request));
    } catch (problem) {
      if (!control.signal.aborted) setMessage(textOf(problem));
    } finally {
      if (cancel.current === control) setBusy("");
    }
  };

  const properties = violatedFirst(catalogue.properties.filter((one) => matches(query, one.id, one.sentence)));
  const hazards = catalogue.hazards.filter((one) => matches(query, one.id, one.title, one.property));
  const witnesses = catalogue.witnesses.filter((one) => matches(query, one.title, one.path));
  return (
    <div class="page start">
      <header class="bar">
        <div class="title">
          <h1>rocketproof</h1>
          <span class="sentence">Choose what to walk in: a known hazard, a counterexample that is there, a property to check, or a scope.</span>
          <span class="about">{version}</span>
          <button type="button" class="quiet" onClick={toggleTheme} aria-label="dark or light">
            ◐
          </button>
        </div>
      </header>
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
        <input type="search" class="filter" ref={search} value={query} placeholder="search: LIV-03, crash, template…" aria-label="Search" onInput={(event) => setQuery(event.currentTarget.value)} />
        {hazards.length > 0 && (
          <section>
            <h2>
              Known hazards <span class="count">{hazards.length}</span>
            </h2>
            <div class="hazards">
              {hazards.map(({ id, title, property, profile, scope, condition }) => (
                <button type="button" class="card" key={id} onClick={() => void ask({ property, profile, scope, condition })}>
                  <span>
                    <b>{id}</b> {title}
                  </span>
                  <span class="path">{[property, profile, condition].filter(Boolean).join(" · ")}</span>
                </button>
              ))}
            </div>
          </section>
        )}
        {witnesses.length > 0 && (
          <section>
            <h2>Counterexamples that are there</h2>
            {witnesses.map((one) => (
              <button type="button" class="card" key={one.id} onClick={() => void ask({ witness: one.id })}>
                <b>{one.title}</b>
                <span class="path">{one.path}</span>
              </button>
            ))}
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
