// Reads an expression as a term of a model: `config["broker-a", "orders"].perm & 2 == 2`, `all(up[b] for b in Broker)`, and what `show`
// prints. The forms are those of Python's `language/reading.py`; `model/docs/expressions.md` describes them for both.

import { split } from "../tree.ts";
import { Builder, type Literal } from "./build.ts";
import { Mistake, ReadingError } from "./mistakes.ts";
import type { Program } from "./program.ts";
import { parse, type Comprehension, type Compared, type Node } from "./syntax.ts";
import { walk, type ModelVariable, type Term } from "./terms.ts";
import { Tokens } from "./tokens.ts";
import { Bool, codes, held, maybe, nameOf, sizeOf, sortOf, type EnumType, type IndexType, type ModelType } from "./types.ts";

const LONGEST = 10_000; // characters of a text
const LARGEST = 20_000; // parts that quantifiers unfold into

/** A value whose type the other side decides: a name, None, a set, or a choice of these. */
interface Untyped {
  sort: "untyped";
  make: (type: ModelType) => Term;
  text: string;
}

/** Fields of a record; a record in it is a row too. */
interface Row {
  sort: "row";
  fields: Map<string, Term | Row>;
}

interface Table {
  sort: "table";
  columns: ReadonlyMap<string, ModelVariable>;
}

interface Plain {
  sort: "plain"; // a number or a truth value as it is typed
  value: number | bigint | boolean;
}

type Value = { sort: "term"; term: Term } | { sort: "array"; variable: ModelVariable } | { sort: "index"; of: IndexType } | Untyped | Row | Table | Plain;

const ALL = ["all", "forall"];
const ANY = ["any", "exists"];
const COUNT = ["count"];
const QUANTIFIERS = [...ALL, ...ANY, "sum", "total", ...COUNT];
const FUNCTIONS: Record<string, (build: Builder, ...args: Term[]) => Term> = {
  rem: (build, x, y) => build.arithmetic("rem", x as Term, y as Term),
  wrap32: (build, x) => build.wrap32(x as Term),
  java_abs: (build, x) => build.javaAbs(x as Term),
  minimum: (build, x, y) => build.minimum(x as Term, y as Term),
  maximum: (build, x, y) => build.maximum(x as Term, y as Term),
  without_bits: (build, x, y) => build.bitwise("bitandnot", x as Term, y as Term),
  implies: (build, x, y) => build.implies(x as Term, y as Term),
  single: (build, x) => build.single(x as Term),
  owner: (build, x) => build.owner(x as Term),
};
const ARGUMENTS: Record<string, number> = { rem: 2, wrap32: 1, java_abs: 1, minimum: 2, maximum: 2, without_bits: 2, implies: 2, single: 1, owner: 1, after: 1, ite: 3 };

/** The names that a text about a model can use, and the way to read it. */
export class Reader {
  readonly build: Builder;
  readonly variables = new Map<string, ModelVariable>();
  readonly tables = new Map<string, Map<string, ModelVariable>>();
  readonly constants: ReadonlyMap<string, ModelType>;
  readonly indices = new Map<string, IndexType>();
  readonly enums: EnumType[] = [];
  readonly values = new Set<string>();
  private readonly tokens: Tokens;

  constructor(program: Program) {
    this.build = new Builder(program.terms);
    this.constants = program.constantTypes;
    for (const variable of program.variables) {
      const [table, column] = split(variable.name);
      if (!column) this.variables.set(table, variable);
      else this.tables.set(table, (this.tables.get(table) ?? new Map<string, ModelVariable>()).set(column, variable));
    }
    const types = [...program.variables.flatMap(({ type, over }) => [...over, type]), ...this.constants.values(), ...program.actions.flatMap((action) => action.parameters.map(({ type }) => type))];
    const seen = new Set<string>();
    for (const type of types.map((one) => held(held(one)))) {
      if (seen.has(type.key)) continue;
      seen.add(type.key);
      if (type.sort === "index") this.indices.set(type.name, type);
      if (type.sort === "enum") this.enums.push(type);
      for (const name of namesOf(type)) this.values.add(name);
    }
    this.tokens = new Tokens(this.values);
  }

  /** The term that a text means. Throws a ReadingError with a message of one line. */
  read(text: string): Term {
    if (text.length > LONGEST) throw new ReadingError(LONGEST - 1, `the text has ${text.length.toLocaleString("en")} characters`, `write at most ${LONGEST.toLocaleString("en")}`);
    if (!text.trim()) throw new ReadingError(0, "there is no text", "write an expression such as x + 1 == 2");
    return new Reading(this, text).whole(parse(this.tokens.read(text)));
  }

  /** Every name, for messages about a mistyped one. */
  known(): string[] {
    return [...this.variables.keys(), ...this.tables.keys(), ...this.indices.keys(), ...this.constants.keys(), ...this.values, ...Object.keys(ARGUMENTS), ...QUANTIFIERS];
  }
}

/** Whether a term speaks of a step, not of a single state only. */
export function ofStep(term: Term): boolean {
  for (const part of walk(term)) if (part.op === "after") return true;
  return false;
}

const namesOf = (type: ModelType): readonly string[] => (type.sort === "enum" || type.sort === "index" ? type.names : []);
const termValue = (term: Term): Value => ({ sort: "term", term });
const sameAxes = (x: ModelVariable, y: ModelVariable): boolean => x.over.map(({ key }) => key).join("\n") === y.over.map(({ key }) => key).join("\n");

class Reading {
  private readonly known: Reader;
  private readonly text: string;
  private readonly build: Builder;
  private readonly bound = new Map<string, Term>();
  private size = 0;

  constructor(known: Reader, text: string) {
    this.known = known;
    this.text = text;
    this.build = known.build;
  }

  whole(node: Node): Term {
    const value = this.value(node);
    if (value.sort === "untyped") throw this.wrong(node, `${value.text} alone has no type`, "compare it with something");
    return this.term(node, value);
  }

  private wrong(node: Node, problem: string, remedy: string): ReadingError {
    return new ReadingError(node.at, problem, remedy);
  }

  private written(node: Node): string {
    return this.text.slice(node.at, node.end).trim().slice(0, 60);
  }

  private value(node: Node): Value {
    if (++this.size > LARGEST) throw this.wrong(node, "the quantifiers unfold into too many parts", "quantify over fewer elements");
    return this.placed(node, () => this.inner(node));
  }

  /** The result of `make`; a mistake gets the place of the node. */
  private placed<T>(node: Node, make: () => T): T {
    try {
      return make();
    } catch (error) {
      if (error instanceof Mistake) throw this.wrong(node, error.problem, error.remedy);
      throw error;
    }
  }

  private inner(node: Node): Value {
    switch (node.sort) {
      case "name":
        return this.name(node, node.name);
      case "constant":
        if (typeof node.value === "string") return this.word(node.value);
        return node.value === null ? { sort: "untyped", make: (type) => this.build.literal(null, type), text: "None" } : { sort: "plain", value: node.value };
      case "subscript":
        return this.subscript(node, node.of, node.indices);
      case "field":
        return this.field(node, node.of, node.name);
      case "after":
        return this.afterStep(node, this.value(node.of));
      case "compare":
        return termValue(this.build.all(node.ops.map((op, k) => this.compared(op, node.sides[k] as Node, node.sides[k + 1] as Node))));
      case "binary":
        return this.binary(node, node.op, node.left, node.right);
      case "logic": {
        const parts = node.parts.map((part) => this.condition(part));
        return termValue(node.op === "and" ? this.build.all(parts) : this.build.any(parts));
      }
      case "unary":
        return this.unary(node.op, node.of);
      case "choice":
        return this.choice(node, node.test, node.then, node.otherwise);
      case "set":
        return this.members(node, node.elements);
      case "call":
        return this.call(node, node.of, node.args);
      default:
        throw this.wrong(node, `${this.written(node)} has no meaning here`, "there are + - * % & | ~ == < in, if else, all(), after()");
    }
  }

  private term(node: Node, value: Value): Term {
    if (value.sort === "term") return value.term;
    if (value.sort !== "plain") throw this.wrong(node, `${this.written(node)} is no value by itself`, "name a field, or an element: table[i].field");
    return typeof value.value === "boolean" ? this.build.literal(value.value, Bool) : this.build.known(value.value);
  }

  private termOf(node: Node): Term {
    return this.term(node, this.value(node));
  }

  private condition(node: Node): Term {
    return this.build.coerce(this.termOf(node), Bool);
  }

  // Names

  private name(node: Node, name: string): Value {
    const known = this.known;
    const bound = this.bound.get(name);
    if (bound) return termValue(bound);
    const variable = known.variables.get(name);
    if (variable) return variable.over.length ? { sort: "array", variable } : termValue(this.build.element(variable, []));
    const columns = known.tables.get(name);
    if (columns) return [...columns.values()].some(({ over }) => over.length) ? { sort: "table", columns } : this.row(columns, [], () => true);
    const constant = known.constants.get(name);
    if (constant) return termValue(this.build.terms.leaf("given", name, constant));
    const of = known.indices.get(name);
    if (of) return { sort: "index", of };
    if (known.values.has(name)) return this.word(name);
    const near = nearest(name, known.known());
    const having = [...known.variables.keys(), ...known.tables.keys()].join(", ") || "none";
    throw this.wrong(node, `nothing is called '${name}'`, near ? `did you mean ${near}?` : `the variables are ${having}`);
  }

  private word(name: string): Untyped {
    return { sort: "untyped", make: (type) => this.build.literal(name, type), text: `'${name}'` };
  }

  /** The value of a part where one of a type is expected; the name of a value of the type means that value. */
  private expected(node: Node, type: ModelType): Value {
    if (node.sort === "name" && namesOf(held(type)).includes(node.name) && !this.bound.has(node.name)) return this.word(node.name);
    if (node.sort === "choice") return this.placed(node, () => this.choice(node, node.test, node.then, node.otherwise, type));
    return this.value(node);
  }

  // Elements and fields

  private subscript(node: Node, of: Node, at: Node[]): Value {
    let base = this.value(of);
    if (base.sort === "array" && base.variable.over.length !== at.length) {
      const columns = this.known.tables.get(base.variable.name); // the items of a sequence, whose length has an index less
      if (columns) base = { sort: "table", columns };
    }
    if (base.sort === "array") return termValue(this.build.element(base.variable, this.places(node, base.variable, at)));
    if (base.sort !== "table") throw this.wrong(node, `${this.written(of)} has no elements`, "index a variable over indices, or a table");
    const columns = [...base.columns.values()];
    const some = columns.find(({ over }) => over.length === at.length) ?? (columns[0] as ModelVariable);
    return this.row(base.columns, this.places(node, some, at), (column) => sameAxes(column, some));
  }

  private places(node: Node, variable: ModelVariable, at: Node[]): Term[] {
    const [table] = split(variable.name);
    if (at.length !== variable.over.length) {
      const needs = variable.over.map((axis) => (axis.sort === "index" ? axis.name : nameOf(axis))).join(", ");
      throw this.wrong(node, `${table} is indexed by ${at.length} values`, `write ${table}[${needs}]`);
    }
    return at.map((one, k) => this.element(one, variable.over[k] as ModelType));
  }

  private element(node: Node, axis: ModelType): Term {
    const value = this.expected(node, axis);
    if (value.sort === "term") return value.term.type.sort === "maybe" ? this.build.get(value.term) : value.term;
    return this.withType(node, value, axis);
  }

  /** The row of the columns that are wanted; columns with dotted names form a row in it. */
  private row(columns: ReadonlyMap<string, ModelVariable>, at: Term[], wanted: (column: ModelVariable) => boolean): Row {
    const row: Row = { sort: "row", fields: new Map() };
    for (const [name, column] of columns) {
      if (!wanted(column)) continue;
      const path = name.split(".");
      const last = path.pop() as string;
      let inner = row;
      for (const part of path) {
        let next = inner.fields.get(part);
        if (!next || !("sort" in next)) inner.fields.set(part, (next = { sort: "row", fields: new Map() }));
        inner = next as Row;
      }
      inner.fields.set(last, this.build.element(column, at));
    }
    return row;
  }

  private field(node: Node, of: Node, name: string): Value {
    const table = of.sort === "name" && !this.bound.has(of.name) ? of.name : "";
    const column = this.known.tables.get(table)?.get(name);
    if (column) return column.over.length ? { sort: "array", variable: column } : termValue(this.build.element(column, []));
    const base = this.value(of);
    if (base.sort === "table") throw this.wrong(node, `${this.written(of)} has no field '${name}'`, `its fields are ${[...base.columns.keys()].join(", ")}`);
    if (base.sort === "row") {
      const field = base.fields.get(name);
      if (!field) throw this.wrong(node, `no field ${name}`, `the fields are ${[...base.fields.keys()].join(", ")}`);
      return "op" in field ? termValue(field) : field;
    }
    if (base.sort === "term") {
      switch (name) {
        case "is_none":
          return termValue(this.build.isNone(base.term));
        case "is_some":
          return termValue(this.build.not(this.build.isNone(base.term)));
        case "get":
          return termValue(this.build.get(base.term));
        case "size":
          return termValue(this.build.size(base.term));
        case "is_empty":
          return termValue(this.build.isEmpty(base.term));
      }
    }
    throw this.wrong(node, `${this.written(of)} has no field '${name}'`, "a Maybe has is_none, is_some and get, a set has size and is_empty");
  }

  private afterStep(node: Node, value: Value): Value {
    if (value.sort === "term") return termValue(this.build.after(value.term));
    if (value.sort === "row") return this.afterRow(value);
    throw this.wrong(node, `after(${this.written(node)}) asks for something that is not a term`, "give a variable, an element or an expression of them");
  }

  private afterRow(row: Row): Row {
    return { sort: "row", fields: new Map([...row.fields].map(([name, field]) => [name, "op" in field ? this.build.after(field) : this.afterRow(field)])) };
  }

  // Operators

  /** Two values; one without a type takes the type of the other. */
  private pair(left: Node, right: Node): [Value, Value] {
    let x = this.value(left);
    const y = x.sort === "term" ? this.expected(right, x.term.type) : this.value(right);
    if (left.sort === "name" && x.sort === "term" && y.sort === "term" && sortOf(x.term.type) !== sortOf(y.term.type)) x = this.expected(left, y.term.type);
    return this.joined(left, x, right, y);
  }

  private joined(left: Node, first: Value, right: Node, second: Value): [Value, Value] {
    let [x, y] = [first, second];
    if (y.sort === "term" && isOpen(x, y.term)) x = termValue(this.withType(left, x, typeBeside(y.term, x)));
    if (x.sort === "term" && isOpen(y, x.term)) y = termValue(this.withType(right, y, typeBeside(x.term, y)));
    if (x.sort === "untyped" && y.sort === "untyped") {
      const one = this.enumOf(x, y);
      if (one) return [termValue(x.make(one)), termValue(y.make(one))];
    }
    for (const [node, value] of [[left, x], [right, y]] as const) {
      if (value.sort === "untyped") throw this.wrong(node, `${value.text} has no type here`, "compare it with a variable");
    }
    return [x, y];
  }

  /** The enumeration of the model that has all these names, if there is exactly one. */
  private enumOf(...values: Untyped[]): EnumType | null {
    const fitting = this.known.enums.filter((one) => {
      try {
        values.forEach((value) => value.make(one));
        return true;
      } catch (error) {
        if (error instanceof Mistake) return false;
        throw error;
      }
    });
    return fitting.length === 1 ? (fitting[0] as EnumType) : null;
  }

  private withType(node: Node, value: Value, type: ModelType): Term {
    return this.placed(node, () => {
      if (value.sort === "untyped") return value.make(type);
      if (value.sort === "term") return this.build.coerce(value.term, type);
      if (value.sort === "plain") return this.build.literal(value.value as Literal, type);
      throw new Mistake(`${this.written(node)} is not a value of ${nameOf(type)}`, "name a field, or an element");
    });
  }

  private compared(op: Compared, left: Node, right: Node): Term {
    if (op === "in" || op === "not in") {
      const contained = this.contained(left, right);
      return op === "in" ? contained : this.build.not(contained);
    }
    const [first, second] = this.pair(left, right);
    if (op === "==" || op === "!=") {
      const same = first.sort === "row" || second.sort === "row" ? this.sameRows(left, first, right, second) : this.build.equal(this.term(left, first), this.term(right, second));
      return op === "==" ? same : this.build.not(same);
    }
    const [x, y] = [this.count(left, first), this.count(right, second)];
    switch (op) {
      case "<":
        return this.build.compare("lt", x, y);
      case "<=":
        return this.build.compare("le", x, y);
      case ">":
        return this.build.compare("lt", y, x);
      case ">=":
        return this.build.compare("le", y, x);
      default:
        throw this.wrong(left, "is and is not have no meaning here", "use == and !=");
    }
  }

  private sameRows(left: Node, x: Value, right: Node, y: Value): Term {
    if (x.sort !== "row" || y.sort !== "row" || [...x.fields.keys()].sort().join() !== [...y.fields.keys()].sort().join()) {
      throw this.wrong(x.sort === "row" ? right : left, `${this.written(x.sort === "row" ? right : left)} is not a row of the same fields`, "use a row of the same Record");
    }
    return this.build.all(
      [...x.fields].map(([name, field]) => {
        const other = y.fields.get(name) as Term | Row;
        if ("op" in field && "op" in other) return this.build.equal(field, other);
        return this.sameRows(left, "op" in field ? termValue(field) : field, right, "op" in other ? termValue(other) : other);
      }),
    );
  }

  private contained(left: Node, right: Node): Term {
    if (right.sort === "list" || right.sort === "tuple" || (right.sort === "set" && right.elements.length)) return this.build.any(right.elements.map((item) => this.compared("==", left, item)));
    if (right.sort === "set") return this.build.no;
    const holder = this.termOf(right);
    return this.build.has(holder, holder.type.sort === "set" ? this.element(left, holder.type.of) : this.build.known(0));
  }

  /** A number; for a Maybe, its element. */
  private count(node: Node, value: Value): Term {
    const term = this.term(node, value);
    return term.type.sort === "maybe" ? this.build.get(term) : term;
  }

  private binary(node: Node, op: string, left: Node, right: Node): Value {
    if (!["+", "-", "*", "%", "&", "|"].includes(op)) throw this.wrong(node, "this operator has no meaning here", "there are + - * % & | &~");
    if (op === "&" && right.sort === "unary" && right.op === "~") {
      const [x, y] = this.pair(left, right.of);
      const [first, second] = [this.term(left, x), this.term(right.of, y)];
      if (first.type.sort === "bool") return termValue(this.build.logical("and", first, this.build.not(second)));
      return termValue(first.type.sort === "set" ? this.build.ofSets("bitandnot", first, second) : this.build.bitwise("bitandnot", first, second));
    }
    const [first, second] = this.pair(left, right);
    let [x, y] = [this.term(left, first), this.term(right, second)];
    const whole = [x, y].some(({ type }) => type.sort === "bool" || type.sort === "set");
    if (!whole) [x, y] = [this.count(left, termValue(x)), this.count(right, termValue(y))];
    switch (op) {
      case "&":
        return termValue(this.build.logical("and", x, y));
      case "|":
        return termValue(this.build.logical("or", x, y));
      case "+":
        return termValue(this.build.arithmetic("add", x, y));
      case "-":
        return termValue(x.type.sort === "set" ? this.build.ofSets("bitandnot", x, y) : this.build.arithmetic("sub", x, y));
      case "*":
        return termValue(this.build.arithmetic("mul", x, y));
      default:
        return termValue(this.build.arithmetic("rem", x, y));
    }
  }

  private unary(op: "~" | "-" | "+", of: Node): Value {
    const value = this.value(of);
    if (op === "~") return termValue(this.build.not(this.term(of, value)));
    if (op === "+") return value;
    if (value.sort === "plain" && typeof value.value !== "boolean") return { sort: "plain", value: typeof value.value === "bigint" ? -value.value : 0 - value.value };
    return termValue(this.build.arithmetic("sub", this.build.known(0), this.count(of, value)));
  }

  private choice(node: Node, testing: Node, body: Node, rest: Node, type: ModelType | null = null): Value {
    const test = this.condition(testing);
    const [first, second] = [body, rest].map((arm) => (type ? this.expected(arm, type) : this.value(arm))) as [Value, Value];
    if (first.sort === "untyped" && second.sort === "untyped") {
      return { sort: "untyped", make: (of) => this.build.choose(test, first.make(of), second.make(of)), text: this.written(node) };
    }
    let [then, otherwise] = this.joined(body, first, rest, second);
    if (type?.sort === "maybe") [then, otherwise] = [termValue(this.withType(body, then, type)), termValue(this.withType(rest, otherwise, type))];
    if (then.sort === "row" && otherwise.sort === "row") return this.chosenRow(test, then, otherwise);
    return termValue(this.build.choose(test, this.term(body, then), this.term(rest, otherwise)));
  }

  private chosenRow(test: Term, then: Row, otherwise: Row): Row {
    if ([...then.fields.keys()].sort().join() !== [...otherwise.fields.keys()].sort().join()) throw new Mistake("the two rows have other fields", "use rows of the same Record");
    const fields = [...then.fields].map(([name, field]): [string, Term | Row] => {
      const other = otherwise.fields.get(name) as Term | Row;
      if ("op" in field && "op" in other) return [name, this.build.choose(test, field, other)];
      return [name, this.chosenRow(test, field as Row, other as Row)];
    });
    return { sort: "row", fields: new Map(fields) };
  }

  private members(node: Node, elements: Node[]): Untyped {
    const text = this.written(node);
    return {
      sort: "untyped",
      text,
      make: (type) => {
        if (type.sort !== "set") throw new Mistake(`${text} is a set where ${nameOf(type)} is needed`, "compare it with a set");
        const empty = this.build.terms.const(0, type);
        return elements.reduce((set, element) => this.build.logical("or", set, this.build.single(this.element(element, type.of))), empty);
      },
    };
  }

  // Functions and quantifiers

  private call(node: Node, of: Node, args: Node[]): Value {
    if (of.sort === "field" && of.name === "has" && args.length === 1) return termValue(this.contained(args[0] as Node, of.of));
    const name = of.sort === "name" ? of.name : "";
    if (QUANTIFIERS.includes(name)) return termValue(this.quantified(name, node, args));
    if (name === "some" && args.length === 1) return this.some(args[0] as Node);
    const needs = Object.hasOwn(ARGUMENTS, name) ? ARGUMENTS[name] : undefined;
    if (needs === undefined) {
      const all = [...Object.keys(ARGUMENTS), ...QUANTIFIERS];
      const near = nearest(name, all);
      throw this.wrong(node, `${this.written(of)} is no function of the language`, near ? `did you mean ${near}?` : `there are ${all.join(", ")}`);
    }
    if (args.length !== needs) throw this.wrong(node, `${name} does not take ${args.length} arguments`, `write ${name}(x) or ${name}(x, y)`);
    const [first, second, third] = args as [Node, Node, Node];
    if (name === "ite") return this.choice(node, first, second, third);
    if (name === "after") return this.afterStep(first, this.value(first));
    const terms = args.map((arg) => this.termOf(arg));
    const [x] = terms as [Term];
    if (name === "single" && x.type.sort === "maybe") terms[0] = this.build.get(x);
    return termValue((FUNCTIONS[name] as (build: Builder, ...args: Term[]) => Term)(this.build, ...terms));
  }

  /** A Maybe that holds a Maybe, as a part of a Maybe of a record can: `some(None)` is not None. */
  private some(node: Node): Untyped {
    const inner = this.value(node);
    const text = `some(${this.written(node)})`;
    return {
      sort: "untyped",
      text,
      make: (type) => {
        if (type.sort !== "maybe") throw new Mistake(`${text} stands where ${nameOf(type)} is needed`, "compare it with a Maybe");
        return this.build.some(this.withType(node, inner, type.of), type);
      },
    };
  }

  private quantified(name: string, node: Node, args: Node[]): Term {
    const [first, second] = args;
    let over: Comprehension[];
    let body: Node;
    if (args.length === 1 && first?.sort === "generator") ({ over, body } = first);
    else if (args.length === 2 && second?.sort === "lambda" && second.parameters.length === 1) {
      over = [{ name: second.parameters[0] as string, over: first as Node, tests: [] }];
      ({ body } = second);
    } else throw this.wrong(node, `${name} needs elements`, `write ${name}(up[b] for b in Broker)`);
    const parts = [...this.unfolded(over, body)];
    if (ALL.includes(name)) return this.build.all(parts.map(([test, value]) => this.build.implies(test, this.build.coerce(value, Bool))));
    if (ANY.includes(name)) return this.build.any(parts.map(([test, value]) => this.build.logical("and", test, this.build.coerce(value, Bool))));
    const counted = COUNT.includes(name) ? parts.map(([test, value]): [Term, Term] => [this.build.logical("and", test, this.build.coerce(value, Bool)), this.build.known(1)]) : parts;
    return counted.map(([test, value]) => this.build.choose(test, value, this.build.known(0))).reduce((sum, one) => this.build.arithmetic("add", sum, one));
  }

  /** For each choice of elements, the condition under which it counts and the value of the body. */
  private *unfolded([first, ...rest]: Comprehension[], body: Node): Generator<[Term, Term]> {
    if (!first) return yield [this.build.yes, this.termOf(body)];
    const over = this.value(first.over);
    if (over.sort !== "index") {
      const having = [...this.known.indices.keys()].join(", ") || "none";
      throw this.wrong(first.over, `${this.written(first.over)} is no index`, `the indices are ${having}`);
    }
    const hidden = this.bound.get(first.name);
    for (const code of codes(over.of)) {
      this.bound.set(first.name, this.build.terms.const(code, over.of));
      const tests = this.build.all(first.tests.map((test) => this.condition(test)));
      for (const [inner, value] of this.unfolded(rest, body)) yield [this.build.logical("and", tests, inner), value];
    }
    this.bound.delete(first.name);
    if (hidden) this.bound.set(first.name, hidden);
  }
}

/** Whether the other side decides a value's type: the value has none, or is the number of an element. */
function isOpen(value: Value, beside: Term): boolean {
  return value.sort === "untyped" || (value.sort === "plain" && typeof value.value !== "boolean" && beside.type.sort === "maybe");
}

/** The type for a value that is compared with a term: for None, a Maybe. */
function typeBeside({ type }: Term, other: Value): ModelType {
  const none = other.sort === "untyped" && other.text === "None";
  return none && type.sort !== "maybe" && sizeOf(type) < 2n ** 62n ? maybe(type) : type;
}

/** A name of few other letters, if there is one. */
function nearest(name: string, all: readonly string[]): string | undefined {
  const [best] = all.map((one) => ({ one, far: distance(name, one) })).sort((x, y) => x.far - y.far);
  return best && best.far <= Math.max(1, Math.floor(name.length / 3)) ? best.one : undefined;
}

/** How many letters must be added, left out or changed. */
function distance(x: string, y: string): number {
  let row = [...y, ""].map((_, k) => k);
  [...x].forEach((letter, i) => {
    const next = [i + 1];
    [...y].forEach((other, k) => next.push(Math.min((next[k] as number) + 1, (row[k + 1] as number) + 1, (row[k] as number) + Number(letter !== other))));
    row = next;
  });
  return row.at(-1) as number;
}

