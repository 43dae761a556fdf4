// The page of a trace: its head, the steps, and beside them what there is to know about the state that one stands in.

import { useEffect, useRef, useState } from "preact/hooks";
import { setAddress } from "../address";
import { bindingOf, TRACE_KEYS, typing } from "../keys";
import type { Request } from "../live";
import { toggleTheme } from "../theme";
import type { Panel } from "../state";
import type { Walker } from "../walker";
import { NEEDS_SERVER } from "../walker";
import { ActionsPanel } from "./actions";
import { Bar } from "./bar";
import { Compare } from "./compare";
import { GraphView } from "./graph";
import { Help, SIGNS, STATIC_SIGN } from "./help";
import { PropertyPanel } from "./property";
import { StatePanel } from "./state";
import { Steps } from "./steps";
import { Here } from "./here";
import { SystemView } from "./system";
import { useKeys, useStore } from "./use";

const PANELS: { panel: Panel; name: string; key: string }[] = [
  { panel: "state", name: "State", key: "s" },
  { panel: "actions", name: "Actions", key: "a" },
  { panel: "property", name: "Property", key: "p" },
];

interface Props {
  walker: Walker;
  home?: (() => void) | undefined;
  open?: ((request: Request) => void) | undefined; // of a served page
}

export function TracePage({ walker, home, open }: Props) {
  const state = useStore(walker.store);
  const [help, setHelp] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const expression = useRef<HTMLInputElement>(null);

  useKeys((event) => {
    if (event.key === "Escape" && event.target instanceof HTMLInputElement) {
      if (event.target === search.current) walker.search("");
      return event.target.blur();
    }
    if (typing(event)) return;
    if (event.key === "?") setHelp(true);
    else if (event.key === "/") search.current?.focus();
    else if (event.key === "e") expression.current?.focus();
    else if (event.key === "t") toggleTheme();
    else if (event.key === "h") leave(walker, home);
    else if (event.key === "Escape") walker.store.set({ view: "trace", message: "" });
    else {
      const binding = bindingOf(event, walker.now.view === "trace" || walker.now.view === "system");
      if (!binding) return;
      binding.run(walker);
    }
    event.preventDefault();
  });

  useEffect(() => setAddress(walker.fragment()));
  useEffect(() => {
    const follow = (): void => walker.arrive(location.hash);
    addEventListener("hashchange", follow); // somebody wrote another address, or went back to one
    return () => removeEventListener("hashchange", follow);
  }, [walker]);

  return (
    <div class={`page view-${state.view}`}>
      <Bar walker={walker} search={search} expression={expression} help={() => setHelp(true)} home={home} />
      {state.message && (
        <div class="message" role="alert">
          <span>{state.message}</span>
          {state.message.startsWith(NEEDS_SERVER) && <ServeHint walker={walker} />}
          <button type="button" class="quiet" onClick={() => walker.say("")}>
            close
          </button>
        </div>
      )}
      {state.view === "compare" && <Compare walker={walker} />}
      {state.view === "graph" && <GraphView walker={walker} />}
      {(state.view === "trace" || state.view === "system") && (
        <main>
          {state.view === "trace" ? <Steps walker={walker} /> : <SystemView walker={walker} />}
          <aside aria-label="The state">
            <Here walker={walker} />
            <div class="tabs" role="tablist">
              {PANELS.map(({ panel, name, key }) => (
                <button type="button" role="tab" key={panel} aria-selected={state.panel === panel} title={`key ${key}`} onClick={() => walker.store.set({ panel })}>
                  {name}
                  {panel === "actions" && <span class="count">{walker.options()?.enabled.length ?? ""}</span>}
                </button>
              ))}
            </div>
            <div class="panel" role="tabpanel" tabIndex={-1}>
              {state.panel === "state" && <StatePanel walker={walker} />}
              {state.panel === "actions" && <ActionsPanel walker={walker} />}
              {state.panel === "property" && <PropertyPanel walker={walker} open={open} />}
            </div>
          </aside>
        </main>
      )}
      <div class="busy" role="status">
        {state.busy}
      </div>
      {help && <Help close={() => setHelp(false)} sections={TRACE_KEYS} signs={walker.served ? SIGNS : [...SIGNS, STATIC_SIGN]} />}
    </div>
  );
}

function leave(walker: Walker, home: (() => void) | undefined): void {
  if (home) home();
  else if (walker.trace.run) location.href = "../index.html";
}

function ServeHint({ walker }: { walker: Walker }) {
  const command = walker.trace.commands.find((one) => / explore /.test(one.command))?.command ?? "rocketproof explore FILE";
  return (
    <span>
      {" "}
      In a terminal: <code>{command}</code>
    </span>
  );
}
