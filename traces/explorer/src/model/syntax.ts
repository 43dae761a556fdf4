// The syntax of expressions: that of Python, without what has no meaning in a model. Text becomes a tree of nodes with their places.

import { ReadingError } from "./mistakes.ts";
import type { Code } from "./numbers.ts";
import { codeOf } from "./numbers.ts";
import { isKeyword, type Token } from "./tokens.ts";

interface Place {
  at: number; // in the text, from 0
  end: number;
}

export type Compared = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in" | "is" | "is not";

export type Node = Place &
  (
    | { sort: "name"; name: string }
    | { sort: "constant"; value: Code | boolean | string | null }
    | { sort: "subscript"; of: Node; indices: Node[] }
    | { sort: "field"; of: Node; name: string }
    | { sort: "after"; of: Node }
    | { sort: "compare"; sides: Node[]; ops: Compared[] }
    | { sort: "binary"; op: string; left: Node; right: Node }
    | { sort: "logic"; op: "and" | "or"; parts: Node[] }
    | { sort: "unary"; op: "~" | "-" | "+"; of: Node }
    | { sort: "choice"; test: Node; then: Node; otherwise: Node }
    | { sort: "set"; elements: Node[] }
    | { sort: "list"; elements: Node[] }
    | { sort: "tuple"; elements: Node[] }
    | { sort: "call"; of: Node; args: Node[] }
    | { sort: "lambda"; parameters: string[]; body: Node }
    | { sort: "generator"; body: Node; over: Comprehension[] }
  );

export interface Comprehension {
  name: string;
  over: Node;
  tests: Node[];
}

/** Levels of binary operators, the loosest first. */
const BINARY = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "//", "%", "@"]];
const CONSTANTS = new Map([
  ["True", true],
  ["False", false],
  ["None", null],
]);
const COMPARISONS = ["==", "!=", "<", "<=", ">", ">="];
const DEEPEST = 200; // nested parts, as in Python

export function parse(tokens: readonly Token[]): Node {
  const parser = new Parser(tokens);
  const node = parser.expression();
  parser.expectEnd();
  return node;
}

class Parser {
  private readonly tokens: readonly Token[];
  private k = 0;
  private depth = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  private get token(): Token {
    return this.tokens[this.k] as Token;
  }

  private get last(): number {
    return this.tokens[this.k - 1]?.end ?? 0;
  }

  private wrong(token = this.token): ReadingError {
    return new ReadingError(token.at, token.sort === "end" ? "the text ends too early" : `${token.text.slice(0, 40)} is not expected here`, "write an expression as in Python");
  }

  private is(...signs: string[]): boolean {
    const { sort, text } = this.token;
    return (sort === "sign" || (sort === "name" && isKeyword(text))) && signs.includes(text);
  }

  private take(...signs: string[]): boolean {
    if (!this.is(...signs)) return false;
    this.k++;
    return true;
  }

  private expect(sign: string): void {
    if (!this.take(sign)) throw this.wrong();
  }

  expectEnd(): void {
    if (this.token.sort !== "end") throw this.wrong();
  }

  /** A part that is one level deeper. */
  private deeper(part: () => Node): Node {
    if (++this.depth > DEEPEST) throw new ReadingError(0, "the text is nested too deeply", "write a shorter one");
    const node = part();
    this.depth--;
    return node;
  }

  expression(): Node {
    return this.deeper(() => this.unnested());
  }

  private unnested(): Node {
    const { at } = this.token;
    if (this.take("lambda")) {
      const parameters = [this.identifier()];
      while (this.take(",")) parameters.push(this.identifier());
      this.expect(":");
      return { sort: "lambda", parameters, body: this.expression(), at, end: this.last };
    }
    const then = this.or();
    if (!this.take("if")) return then;
    const test = this.or();
    this.expect("else");
    return { sort: "choice", test, then, otherwise: this.expression(), at, end: this.last };
  }

  private or(): Node {
    return this.logic("or", () => this.logic("and", () => this.not()));
  }

  private logic(op: "and" | "or", part: () => Node): Node {
    const { at } = this.token;
    const parts = [part()];
    while (this.take(op)) parts.push(part());
    return parts.length === 1 ? (parts[0] as Node) : { sort: "logic", op, parts, at, end: this.last };
  }

  private not(): Node {
    const { at } = this.token;
    if (!this.take("not")) return this.comparison();
    const of = this.deeper(() => this.not());
    return { sort: "unary", op: "~", of, at, end: this.last };
  }

  private comparison(): Node {
    const { at } = this.token;
    const sides = [this.binary(0)];
    const ops: Compared[] = [];
    for (let op = this.compared(); op; op = this.compared()) {
      ops.push(op);
      sides.push(this.binary(0));
    }
    return ops.length ? { sort: "compare", sides, ops, at, end: this.last } : (sides[0] as Node);
  }

  private compared(): Compared | null {
    const { text } = this.token;
    if (this.take(...COMPARISONS, "in")) return text as Compared;
    if (this.take("is")) return this.take("not") ? "is not" : "is";
    if (!this.is("not")) return null;
    this.k++;
    this.expect("in");
    return "not in";
  }

  private binary(level: number): Node {
    const signs = BINARY[level];
    if (!signs) return this.unary();
    const { at } = this.token;
    let left = this.binary(level + 1);
    for (;;) {
      const { text } = this.token;
      if (!this.take(...signs)) return left;
      left = { sort: "binary", op: text, left, right: this.binary(level + 1), at, end: this.last };
    }
  }

  private unary(): Node {
    const { at, text } = this.token;
    if (!this.take("~", "-", "+")) return this.power();
    const of = this.deeper(() => this.unary());
    return { sort: "unary", op: text as "~", of, at, end: this.last };
  }

  private power(): Node {
    const left = this.primary();
    if (!this.take("**")) return left;
    return { sort: "binary", op: "**", left, right: this.unary(), at: left.at, end: this.last };
  }

  private primary(): Node {
    let node = this.atom();
    const { at } = node;
    for (;;) {
      const { sort, text } = this.token;
      if (sort === "prime") {
        this.k++;
        node = { sort: "after", of: node, at, end: this.last };
      } else if (sort === "part") {
        this.k++;
        node = { sort: "field", of: node, name: text.slice(1), at, end: this.last };
      } else if (this.take(".")) {
        const name = this.identifier();
        node = { sort: "field", of: node, name, at, end: this.last };
      } else if (this.take("[")) {
        const indices = this.listed("]");
        if (!indices.length) throw this.wrong(this.tokens[this.k - 1]);
        node = { sort: "subscript", of: node, indices: indices.length === 1 && indices[0]?.sort === "tuple" ? indices[0].elements : indices, at, end: this.last };
      } else if (this.take("(")) {
        const args = this.listed(")");
        node = { sort: "call", of: node, args, at, end: this.last };
      } else return node;
    }
  }

  private identifier(): string {
    const { sort, text } = this.token;
    if (sort !== "name" || isKeyword(text)) throw this.wrong();
    this.k++;
    return text;
  }

  /** Expressions up to a closing sign; the only one may be a generator. */
  private listed(closes: string): Node[] {
    const nodes: Node[] = [];
    while (!this.take(closes)) {
      if (nodes.length) this.expect(",");
      if (nodes.length && this.take(closes)) break;
      const body = this.expression();
      nodes.push(this.is("for") ? this.generator(body) : body);
    }
    return nodes;
  }

  private generator(body: Node): Node {
    const over: Comprehension[] = [];
    while (this.take("for")) {
      const name = this.identifier();
      this.expect("in");
      const elements = this.or();
      const tests: Node[] = [];
      while (this.take("if")) tests.push(this.or());
      over.push({ name, over: elements, tests });
    }
    return { sort: "generator", body, over, at: body.at, end: this.last };
  }

  private atom(): Node {
    const { sort, text, at, end } = this.token;
    if (sort === "odd") {
      this.k++;
      return { sort: "name", name: text, at, end };
    }
    if (sort === "number") {
      this.k++;
      return { sort: "constant", value: numberOf(text, at), at, end };
    }
    if (sort === "text") {
      this.k++;
      if (this.token.sort === "text") throw this.wrong();
      return { sort: "constant", value: unquoted(text), at, end };
    }
    if (sort === "name" && !isKeyword(text)) {
      this.k++;
      const constant = CONSTANTS.get(text);
      return constant === undefined ? { sort: "name", name: text, at, end } : { sort: "constant", value: constant, at, end };
    }
    if (this.take("{")) return { sort: "set", elements: this.listed("}"), at, end: this.last };
    if (this.take("[")) return { sort: "list", elements: this.listed("]"), at, end: this.last };
    if (this.take("(")) {
      const elements = this.listed(")");
      const comma = this.tokens[this.k - 2]?.text === ",";
      if (elements.length === 1 && !comma) return elements[0] as Node;
      return { sort: "tuple", elements, at, end: this.last };
    }
    throw this.wrong();
  }
}

function numberOf(text: string, at: number): Code {
  const digits = text.replaceAll("_", "");
  if (text.includes(".")) throw new ReadingError(at, `${text} is no value of a model`, "there are whole numbers, True, False, None and names");
  if (/^0[0-9]*[1-9]/.test(digits) || digits.length > 4000 || /_$|__/.test(text)) throw new ReadingError(at, `${text.slice(0, 40)} is no number`, "write digits without leading zeros");
  return codeOf(digits);
}

const ESCAPES: Record<string, string> = { "\\": "\\", "'": "'", '"': '"', n: "\n", t: "\t" };

const unquoted = (text: string): string => text.slice(1, -1).replace(/\\(.)/g, (whole, sign: string) => ESCAPES[sign] ?? whole);
