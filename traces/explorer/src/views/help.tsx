// Keys and signs, from the same table that the page listens by.

import { useLayoutEffect, useRef } from "preact/hooks";
import { BINDINGS, keyText } from "../keys";

const OTHERS = [
  { keys: ["/"], what: "search the steps; Enter goes to the next found, Esc leaves" },
  { keys: ["t"], what: "dark or light" },
  { keys: ["?"], what: "this help" },
  { keys: ["Esc"], what: "back to the trace" },
];

export function Help({ close, live }: { close: () => void; live: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" onClose={close} aria-label="Keys and signs" onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <form method="dialog">
        <h2>Keys</h2>
        <button class="quiet">close</button>
      </form>
      <KeyList keys={[...BINDINGS, ...OTHERS]} />
      <h2>Signs</h2>
      <ul>
        <li>A filled dot acts; an arrow is a message that it sends, a dashed arrow one that it takes. A diamond is a fault, or what else happens without anybody's doing.</li>
        <li>
          A step is folded away if it changes nothing that the property speaks of, leaves its truth as it is, crosses between no actors and is no fault. Click a fold to open it.
        </li>
        <li>The bracket at the left is the loop: its steps repeat for ever.</li>
        <li>A click on a value of the state pins it; it then stands beside every step. A click on a name searches the steps that change it, one on a lane those of its actor.</li>
        <li>
          Searches take words, and <code>actor:</code> <code>action:</code> <code>variable:</code> <code>truth:</code>
        </li>
        {!live && <li>“What if”, expressions and the state graph need the served page: rocketproof explore FILE.</li>}
      </ul>
    </dialog>
  );
}

export function KeyList({ keys }: { keys: readonly { keys: string[]; what: string }[] }) {
  return (
    <dl class="keys">
      {keys.map((one) => (
        <div key={one.what}>
          <dt>
            {one.keys.map((key) => (
              <kbd key={key}>{keyText(key)}</kbd>
            ))}
          </dt>
          <dd>{one.what}</dd>
        </div>
      ))}
    </dl>
  );
}
