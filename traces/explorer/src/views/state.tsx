// The state as a tree of parts, rows and fields, in which only what the last step changed stands out.

import type { ComponentChildren } from "preact";
import { matches } from "../search";
import { changedRows, ELSEWHERE, type Field, type Row } from "../tree";
import type { Walker } from "../walker";
import { useStore } from "./use";

export function StatePanel({ walker }: { walker: Walker }) {
  const state = useStore(walker.store);
  const path = walker.path;
  const k = state.walk.at;
  const after = path.states[k] ?? [];
  const before = path.states[k - 1] ?? after;
  const changed = new Set(path.steps[k - 1]?.changed ?? []);
  const lively = walker.lively();
  const filtering = state.filter.trim() !== "";
  const wanted = (row: Row, part: string, field: Field): boolean =>
    filtering ? matches(state.filter, row.key, field.name, row.sentence, part, walker.text(field.slot, after[field.slot] ?? 0)) : state.everything || lively.has(field.slot);
  const hidden = walker.trace.model.slots.length - lively.size;
  const values = { walker, before, after, changed };

  return (
    <div class="state-panel">
      <div class="tools">
        <input
          type="search"
          class="filter"
          placeholder="filter: variable, actor, value"
          aria-label="Filter the state"
          value={state.filter}
          onInput={(event) => walker.store.set({ filter: event.currentTarget.value })}
        />
        <label title="values that never change in this trace">
          <input type="checkbox" checked={state.everything} onChange={() => walker.store.set({ everything: !state.everything })} /> what never changes ({hidden})
        </label>
      </div>
      {state.pins.length > 0 && (
        <section class="part pinned">
          <h3>pinned</h3>
          {state.pins.map((slot) => (
            <div class="row" key={slot}>
              <span class="key">{walker.trace.model.slots[slot]?.label}</span>
              <span class="fields">
                <FieldView {...values} field={{ slot, name: "" }} />
              </span>
            </div>
          ))}
        </section>
      )}
      {k > 0 && !filtering && (
        <section class="part just">
          <h3>changed by this step</h3>
          {changedRows(walker.tree, [...changed]).map(({ row, fields }) => (
            <RowView {...values} row={row} fields={fields} key={row.key} />
          ))}
          {!changed.size && <p class="nothing">nothing</p>}
        </section>
      )}
      {walker.tree.map(({ part, rows }) => {
        const shown = rows.map((row) => ({ row, fields: row.fields.filter((field) => wanted(row, part, field)) })).filter(({ fields }) => fields.length);
        if (!shown.length) return null;
        const moved = shown.some(({ fields }) => fields.some((field) => changed.has(field.slot)));
        return (
          <details class={`part${moved ? " moved" : ""}`} open key={part}>
            <summary>{part === ELSEWHERE ? "shared by all" : part}</summary>
            {shown.map(({ row, fields }) => (
              <RowView {...values} row={row} fields={fields} key={row.key} />
            ))}
          </details>
        );
      })}
      {filtering && !walker.tree.some(({ part, rows }) => rows.some((row) => row.fields.some((field) => wanted(row, part, field)))) && (
        <p class="nothing">Nothing in this state has “{state.filter}” in its name, its sentence or its value.</p>
      )}
    </div>
  );
}

interface Values {
  walker: Walker;
  before: readonly number[];
  after: readonly number[];
  changed: ReadonlySet<number>;
}

/** One row of the tree with some of its fields. */
export function RowView({ row, fields, ...values }: Values & { row: Row; fields: readonly Field[] }) {
  return (
    <div class={`row${fields.some((field) => values.changed.has(field.slot)) ? " moved" : ""}`}>
      <button type="button" class="key" title={`${row.sentence ? `${row.sentence}: ` : ""}search the steps that change it`} onClick={() => search(values.walker, row)}>
        {breakable(row.key)}
      </button>
      <span class="fields">
        {fields.map((field) => (
          <FieldView {...values} field={field} key={field.slot} />
        ))}
      </span>
    </div>
  );
}

/** Mark the steps that change a row; once more takes the marks away. */
function search(walker: Walker, row: Row): void {
  const query = `variable:"${row.key}"`;
  walker.search(walker.now.query === query ? "" : query);
}

/** A long name, which may go on in the next line after `_`, `.` and `[`. */
function breakable(name: string): ComponentChildren {
  return name.split(/(?<=[_.[])/).map((part, k) => (k ? [<wbr key={k} />, part] : part));
}

function FieldView({ walker, before, after, changed, field }: Values & { field: Field }) {
  const { slot, name } = field;
  const moved = changed.has(slot);
  const label = walker.trace.model.slots[slot]?.label ?? "";
  const pinned = walker.now.pins.includes(slot);
  const now = walker.text(slot, after[slot] ?? 0);
  const what = pinned ? `${label}: unpin` : `${label}: pin beside the steps`;
  return (
    <button type="button" class={`field${moved ? " moved" : ""}${pinned ? " is-pinned" : ""}`} title={what} aria-label={`${label} is ${now}; ${pinned ? "unpin" : "pin"}`} onClick={() => walker.togglePin(slot)}>
      {name && <span class="name">{name} </span>}
      {moved && <span class="was">{walker.text(slot, before[slot] ?? 0)} → </span>}
      <span class="is">{now}</span>
    </button>
  );
}
