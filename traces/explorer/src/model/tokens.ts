// Splits an expression into tokens. Names of the model that are no identifiers, such as `broker-a` or `producer 0`, are one token.

import { ReadingError } from "./mistakes.ts";
import { LETTER, literal } from "./patterns.ts";

export type Token = { sort: "name" | "odd" | "number" | "text" | "sign" | "prime" | "part" | "end"; text: string; at: number; end: number };

const KEYWORDS = "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(" ");
const IDENTIFIER = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const CLOSES = "(?=\\s*(?:[)\\]},]|$|[=!]=|if\\b|else\\b))"; // what follows a name, but not an operator of the same spelling, such as `not`
const SIGNS = "==|!=|<=|>=|<<|>>|\\*\\*|//|->|:=|[-+*/%&|~^<>()\\[\\]{},.:=@;]";

/** Reads texts that may name the values of a model. */
export class Tokens {
  private readonly pattern: RegExp;

  /** `words` are names of values: those of enumerations and the elements of indices. */
  constructor(words: Iterable<string>) {
    const all = [...words];
    const odd = all.filter((word) => word && !IDENTIFIER.test(word)).sort((x, y) => y.length - x.length);
    const reserved = all.filter((word) => KEYWORDS.includes(word));
    const names = [...odd.map(bounded), ...reserved.map((word) => `(?<!${LETTER}|\\.)${word}(?!${LETTER})${CLOSES}`)];
    const parts = [
      ["odd", names.join("|") || "(?!)"],
      ["prime", `(?<=${LETTER}|[\\])])'`],
      ["number", `(?<!${LETTER}|\\.)(?:0[xXoObB][0-9a-fA-F_]+|[0-9][0-9_]*(?:\\.[0-9]*)?)`],
      ["part", `(?<=${LETTER}|\\])\\.[0-9]+(?!${LETTER})`],
      ["text", "\"[^\"\\n]*\"|'[^'\\n]*'"],
      ["name", `[\\p{L}_]${LETTER}*`],
      ["sign", SIGNS],
      ["space", "\\s+"],
    ];
    this.pattern = new RegExp(parts.map(([name, text]) => `(?<${name}>${text})`).join("|"), "uy");
  }

  /** The tokens of a text, the last one of the sort "end". Throws a ReadingError. */
  read(text: string): Token[] {
    const tokens: Token[] = [];
    let at = 0;
    while (at < text.length) {
      this.pattern.lastIndex = at;
      const groups = this.pattern.exec(text)?.groups;
      const [sort, found] = Object.entries(groups ?? {}).find(([, part]) => part !== undefined) ?? [];
      if (sort === undefined || found === undefined) throw new ReadingError(at, `${JSON.stringify([...text.slice(at)][0])} has no meaning here`, "write an expression as in Python");
      const end = at + found.length;
      if (sort !== "space") tokens.push({ sort: sort as Token["sort"], text: found, at, end });
      at = end;
    }
    return [...tokens, { sort: "end", text: "", at: text.trimEnd().length, end: text.length }];
  }
}

/** A pattern for a word where it is no part of a longer one. */
function bounded(word: string): string {
  const before = new RegExp(`^${LETTER}`, "u").test(word) ? `(?<!${LETTER}|-)` : "";
  const after = new RegExp(`${LETTER}$`, "u").test(word) ? `(?!${LETTER}|-)` : "";
  return before + literal(word) + after;
}

export const isKeyword = (word: string): boolean => KEYWORDS.includes(word);
