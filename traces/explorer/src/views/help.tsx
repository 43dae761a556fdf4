// Keys and signs, from the same tables that the pages listen by.

import { useLayoutEffect, useRef } from "preact/hooks";
import { keyText, type Keys, type KeySection } from "../keys";

interface Props {
  close: () => void;
  sections: readonly KeySection[];
  signs?: readonly string[];
}

/** Signs of a trace. */
export const SIGNS = [
  "A filled dot acts; an arrow is a message that it sends, a dashed arrow one that it takes. A diamond is a fault, or an event from outside.",
  "A step is folded if it changes nothing that the property reads, leaves its truth as it is, sends no message and is no fault. A click on a fold opens it.",
  "The bracket at the left is the loop: its steps repeat for ever.",
  "A click on a value of the state pins it next to every step. A click on a name searches the steps that change it, a click on a lane those of its actor.",
  "In the system view a thick frame acts, a dashed frame receives or has sent a message. Changed values have a frame in the actor's colour, and a click shows them in the state. A double line marks what the property reads.",
  "Searches take words, and actor: action: variable: truth:",
];

export const STATIC_SIGN = "The state graph needs the served page: rocketproof explore FILE.";

export function Help({ close, sections, signs = [] }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" onClose={close} aria-label="Keys and signs" onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <form method="dialog">
        <h2>Keys</h2>
        <button class="quiet">close</button>
      </form>
      {sections.map(({ title, keys }) => (
        <section key={title}>
          {sections.length > 1 && <h3>{title}</h3>}
          <KeyList keys={keys} />
        </section>
      ))}
      {signs.length > 0 && <h2>Signs</h2>}
      <ul>
        {signs.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </dialog>
  );
}

export function KeyList({ keys }: { keys: readonly Keys[] }) {
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
