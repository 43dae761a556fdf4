// The property, what the trace shows of it, where the trace comes from, and the commands that come back to it.

import { useState } from "preact/hooks";
import type { Command, TraceDocument } from "../document";
import type { Request } from "../live";
import type { Walker } from "../walker";

export function PropertyPanel({ walker, open }: { walker: Walker; open?: ((request: Request) => void) | undefined }) {
  const { property, model, note, end, loop_text, commands } = walker.trace;
  return (
    <div class="property-panel">
      <h3>
        {property.id} <span class="count">{property.kind.replaceAll("_", " ")}</span>
      </h3>
      <p class="sentence">{property.sentence}</p>
      <p class="formula">{property.formula}</p>
      {property.goal !== null && (
        <>
          <p class="sentence">leads to</p>
          <p class="formula">{property.goal}</p>
        </>
      )}
      {open && walker.hazards.length > 0 && (
        <>
          <h3>known hazards</h3>
          {walker.hazards.map(({ id, title, profile }) => (
            <button type="button" class="card" key={id} onClick={() => open({ hazard: id, profile })}>
              <b>{id}</b> {title}
            </button>
          ))}
        </>
      )}
      <h3>this trace</h3>
      {[end, loop_text, note].filter(Boolean).map((text) => (
        <p class="sentence" key={text}>
          {text}
        </p>
      ))}
      <h3>where it comes from</h3>
      <SubjectList subject={walker.trace.subject} />
      {model.constants.length > 0 && (
        <details>
          <summary>the {model.constants.length} constants of the model</summary>
          <dl class="values wide">
            {model.constants.map(({ name, value }) => (
              <div key={name}>
                <dt>{name}</dt> = <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      <Commands commands={commands} />
    </div>
  );
}

/** `of` is what the first row is called: a history is of a target. */
export function SubjectList({ subject, of = "model" }: { subject: TraceDocument["subject"]; of?: string }) {
  return (
    <dl class="subject">
      {(["model", "profile", "scope", "condition", "engine"] as const).map((name) =>
        subject[name] ? (
          <div key={name}>
            <dt>{name === "model" ? of : name}</dt>
            <dd>{subject[name]}</dd>
          </div>
        ) : null,
      )}
    </dl>
  );
}

export function Commands({ commands }: { commands: readonly Command[] }) {
  if (!commands.length) return null;
  return (
    <>
      <h3>in a terminal</h3>
      {commands.map(({ label, command }) => (
        <CommandLine key={label} label={label} command={command} />
      ))}
    </>
  );
}

export function CommandLine({ label, command }: Command) {
  const [copied, set] = useState(false);
  const copy = (): void => {
    void navigator.clipboard?.writeText(command).then(
      () => {
        set(true);
        setTimeout(() => set(false), 1500);
      },
      () => undefined,
    );
  };
  return (
    <div class="command">
      <span class="what">{label}</span>
      <code>{command}</code>
      <button type="button" class="quiet" onClick={copy} aria-label={`Copy: ${label}`}>
        {copied ? "copied" : "copy"}
      </button>
    </div>
  );
}
