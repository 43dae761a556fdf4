// The word for the property's truth, in its colour.

import type { Truth } from "../document";
import { sameTruth } from "../folding";

const GOOD = new Set(["holds", "reached", "goes on", "may end"]);

export function toneOf(truth: Truth | undefined): string {
  if (!truth?.word) return "";
  if (truth.word.startsWith("waiting")) return truth.bad ? "wait worst" : "wait";
  if (truth.bad) return "bad";
  return GOOD.has(truth.word) ? "good" : "plain";
}

export function TruthWord({ truth, before }: { truth: Truth | undefined; before?: Truth | undefined }) {
  const same = before !== undefined && sameTruth(truth, before);
  return (
    <span class={`truth ${toneOf(truth)}${same ? " same" : ""}`} title={truth?.part || undefined}>
      {truth?.word ?? ""}
    </span>
  );
}
