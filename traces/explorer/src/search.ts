// What a search finds along a path: words of the label, of who acts, of the names that change; and `actor:`, `action:`, `variable:`, `truth:`.

import type { ModelView, Step, Truth } from "./document";

export interface Query {
  words: string[];
  only: { key: Key; value: string }[];
}

type Key = "actor" | "action" | "variable" | "truth";
const KEYS: readonly Key[] = ["actor", "action", "variable", "truth"];

/** `send actor:"broker a" variable:config`: all of it must be found. */
export function readQuery(text: string): Query {
  const query: Query = { words: [], only: [] };
  for (const [, key, quoted, plain] of text.toLowerCase().matchAll(/(?:(\w+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const value = quoted ?? plain ?? "";
    const known = KEYS.find((one) => one === key);
    if (known) query.only.push({ key: known, value });
    else if (key) query.words.push(`${key}:${value}`);
    else if (value) query.words.push(value);
  }
  return query;
}

/** The numbers of the states whose step the query finds; null for an empty query. */
export function found(text: string, steps: readonly Step[], truths: readonly Truth[], model: ModelView): Set<number> | null {
  const query = readQuery(text);
  if (!query.words.length && !query.only.length) return null;
  const sentences = new Map(model.actions.map((action) => [action.name, action.sentence]));
  const hits = new Set<number>();
  steps.forEach((step, k) => {
    const texts = {
      actor: [step.by, step.to ?? "", step.from ?? ""].join("\n").toLowerCase(),
      action: step.action.toLowerCase(),
      variable: step.changed.map((slot) => model.slots[slot]?.label ?? "").join("\n").toLowerCase(),
      truth: (truths[k + 1]?.word ?? "").toLowerCase(),
    };
    const all = [step.label.toLowerCase(), (step.sentence ?? "").toLowerCase(), (sentences.get(step.action) ?? "").toLowerCase(), ...Object.values(texts)].join("\n");
    if (query.only.every(({ key, value }) => texts[key].includes(value)) && query.words.every((word) => all.includes(word))) hits.add(k + 1);
  });
  return hits;
}

/** Whether some words, each anywhere, stand in the texts. */
export function matches(text: string, ...texts: string[]): boolean {
  const all = texts.join("\n").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
