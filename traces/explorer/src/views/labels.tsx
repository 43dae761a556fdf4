// What a model's values are called, to be completed where an expression is typed.

import type { ModelView } from "../document";

export function Labels({ id, model }: { id: string; model: ModelView }) {
  return (
    <datalist id={id}>
      {model.slots.map(({ label }) => (
        <option value={label} key={label} />
      ))}
    </datalist>
  );
}
