// Makes typed terms as the modelling language does: operands are checked, the interval of a number is inferred, known values are folded.
// The folding is part of the meaning: `False & x` needs no value of x, in Python as here.

import { Mistake } from "./mistakes.ts";
import * as numbers from "./numbers.ts";
import type { Code } from "./numbers.ts";
import { show, type ModelVariable, type Op, type Term, type Terms } from "./terms.ts";
import { Bool, codes, describe, inside, int, nameOf, set, sizeOf, sortOf, type MaybeType, type ModelType, type SetType } from "./types.ts";

const LIMIT = 2n ** 62n;
const JAVA_INT: [number, number] = [-(2 ** 31), 2 ** 31 - 1];
const LARGEST_SET = 32;

/** A value as it is typed: a number, a truth value, a name, or None. */
export type Literal = Code | boolean | string | null;

const least = (...all: Code[]): Code => all.reduce((x, y) => (y < x ? y : x));
const most = (...all: Code[]): Code => all.reduce((x, y) => (y > x ? y : x));
const magnitude = (x: Code): Code => (x < 0 ? numbers.sub(0, x) : x);

const FOLDED: Partial<Record<Op, (x: Code, y: Code) => Code>> = {
  add: numbers.add,
  sub: numbers.sub,
  mul: numbers.mul,
  rem: numbers.rem,
  bitand: numbers.bitand,
  bitor: numbers.bitor,
  bitandnot: numbers.bitandnot,
  lt: (x, y) => Number(x < y),
  le: (x, y) => Number(x <= y),
};

const folded = (op: Op, x: Term, y: Term): Code => (FOLDED[op] as (x: Code, y: Code) => Code)(x.code, y.code);

/** The code of a value that was typed. Throws a mistake if it is no value of the type. */
function encode(value: Literal, type: ModelType): Code {
  const wrong = (): Mistake => new Mistake(`${literalText(value)} is not a value of ${nameOf(type)}`, `use one of ${describe(type)}`);
  switch (type.sort) {
    case "bool":
      if (typeof value !== "boolean") throw wrong();
      return Number(value);
    case "enum":
      if (typeof value !== "string" || !type.names.includes(value)) throw wrong();
      return type.names.indexOf(value);
    case "maybe":
      if (value === null) return 0;
      if (type.of.sort === "maybe") throw wrong();
      return numbers.add(numbers.sub(encode(value, type.of), type.of.lo), 1);
    case "set":
      throw wrong();
    case "index":
      if (typeof value === "string" && type.names.includes(value)) return type.names.indexOf(value);
  }
  if ((typeof value !== "number" && typeof value !== "bigint") || !inside(type, value)) throw wrong();
  return value;
}

function literalText(value: Literal): string {
  if (value === null) return "None";
  return typeof value === "string" ? `'${value}'` : typeof value === "boolean" ? (value ? "True" : "False") : String(value);
}

export class Builder {
  readonly terms: Terms;
  readonly yes: Term;
  readonly no: Term;

  constructor(terms: Terms) {
    this.terms = terms;
    this.yes = terms.const(1, Bool);
    this.no = terms.const(0, Bool);
  }

  /** A number as a term. */
  known(code: Code): Term {
    if (code < -LIMIT || code > LIMIT) throw new Mistake(`Int(${code}, ${code}) does not fit 63 bits`, "choose smaller bounds");
    return this.terms.const(code, int(code, code));
  }

  /** A value that was typed as a term of a type. */
  literal(value: Literal, type: ModelType): Term {
    return this.terms.const(encode(value, type), type);
  }

  /** A term where one of a type is needed; an element becomes a Maybe. */
  coerce(term: Term, type: ModelType): Term {
    const have = term.type;
    if (sortOf(have) === sortOf(type)) {
      if (["enum", "set", "maybe"].includes(type.sort) && have.key !== type.key) throw new Mistake(`'${show(term)}' is ${nameOf(have)} where ${nameOf(type)} is needed`, "use one type for both sides");
      if (have.sort === "index" && type.sort === "index" && have.key !== type.key) throw new Mistake(`'${show(term)}' is an element of ${nameOf(have)} where ${nameOf(type)} is needed`, "check which index is meant");
      return term;
    }
    if (type.sort === "maybe" && (have.key === type.of.key || (sortOf(have) === "int" && ["int", "bool"].includes(sortOf(type.of))))) return this.some(term, type);
    throw new Mistake(`'${show(term)}' is ${nameOf(have)} where ${nameOf(type)} is needed`, "use one type for both sides");
  }

  /** The Maybe that holds a value; a number outside the Maybe's type has no value. */
  some(value: Term, type: MaybeType): Term {
    const { of } = type;
    const { lo, hi } = value.type;
    if (of.sort === "int" && value.type.sort === "int" && value.op !== "const" && lo <= of.hi && hi >= of.lo && (lo < of.lo || hi > of.hi)) {
      const within: Term[] = [];
      if (lo < of.lo) within.push(this.compare("le", this.known(of.lo), value));
      if (hi > of.hi) within.push(this.compare("le", value, this.known(of.hi)));
      const test = within.reduce((x, y) => this.logical("and", x, y));
      return this.terms.of("some", type, this.terms.of("ite", of, test, value, this.get(this.terms.const(0, type))));
    }
    const element = this.ofType(value, of);
    return element.op === "const" ? this.terms.const(numbers.add(numbers.sub(element.code, of.lo), 1), type) : this.terms.of("some", type, element);
  }

  /** A term that is certainly a value of a type, as a number: a Bool becomes 0 or 1. */
  ofType(value: Term, type: ModelType): Term {
    const term = type.sort === "bool" && sortOf(value.type) === "int" ? value : this.coerce(value, type);
    const [lo, hi] = term.op === "const" ? [term.code, term.code] : [term.type.lo, term.type.hi];
    if (lo < type.lo || hi > type.hi) throw new Mistake(`'${show(term)}' may be no element of ${nameOf(type)}`, "give an element, or a number that is certainly in range");
    return term.type.sort === "bool" && term.op !== "const" ? this.choose(term, this.known(1), this.known(0)) : term;
  }

  /** The set with one element. */
  single(element: Term): Term {
    if (sizeOf(element.type) > LARGEST_SET) throw new Mistake(`'${show(element)}' is not an element of an index`, "single() takes an element");
    const type = set(element.type);
    const one = this.ofType(element, element.type);
    return one.op === "const" ? this.terms.const(numbers.bit(numbers.sub(one.code, element.type.lo)), type) : this.terms.of("single", type, one);
  }

  number(term: Term): Term {
    if (sortOf(term.type) === "int") return term;
    const remedy = term.type.sort === "bool" ? "count(Broker, lambda i: ...) counts where a condition holds, ite(c, 1, 0) makes a number of one" : "arithmetic needs Int or index terms";
    throw new Mistake(`'${show(term)}' is ${nameOf(term.type)}, not a number`, remedy);
  }

  private interval(lo: Code, hi: Code, op: Op, x: Term, y: Term): ModelType {
    if (lo < -LIMIT || hi > LIMIT) throw new Mistake(`'${op} of ${show(x)} and ${show(y)}' may need more than 63 bits`, "choose smaller bounds for its parts");
    return int(lo, hi);
  }

  arithmetic(op: "add" | "sub" | "mul" | "rem", left: Term, right: Term): Term {
    const [x, y] = [this.number(left), this.number(right)];
    if (x.op === "const" && y.op === "const" && !(op === "rem" && y.code === 0)) {
      const value = folded(op, x, y);
      return this.terms.const(value, this.interval(value, value, op, x, y));
    }
    if (op === "rem") {
      const largest = numbers.sub(most(magnitude(y.type.lo), magnitude(y.type.hi)), 1);
      const lo = x.type.lo < 0 ? most(x.type.lo, numbers.sub(0, largest)) : 0;
      const hi = x.type.hi > 0 ? least(x.type.hi, largest) : 0;
      return this.terms.of("rem", int(least(lo, hi), most(lo, hi)), x, y);
    }
    if (y.op === "const" && y.code === 0 && op !== "mul") return x;
    const operate = FOLDED[op] as (x: Code, y: Code) => Code;
    const corners = [x.type.lo, x.type.hi].flatMap((i) => [operate(i, y.type.lo), operate(i, y.type.hi)]);
    return this.terms.of(op, this.interval(least(...corners), most(...corners), op, x, y), x, y);
  }

  bitwise(op: "bitand" | "bitor" | "bitandnot", left: Term, right: Term): Term {
    const [x, y] = [this.number(left), this.number(right)];
    if (x.op === "const" && y.op === "const") return this.known(folded(op, x, y));
    return this.terms.of(op, bitRange(op, x.type, y.type), x, y);
  }

  ofSets(op: "bitand" | "bitor" | "bitandnot", left: Term, right: Term): Term {
    const { type } = left;
    const [x, y] = [this.coerce(left, type), this.coerce(right, type)];
    if (x.op === "const" && y.op === "const") return this.terms.const(folded(op, x, y), type);
    return this.terms.of(op, type, x, y);
  }

  /** `&` and `|`: of conditions, of sets, and of the bits of numbers. */
  logical(op: "and" | "or", left: Term, right: Term): Term {
    const bits = op === "and" ? "bitand" : "bitor";
    const sort = sortOf(left.type);
    if (sort === "set") return this.ofSets(bits, left, right);
    if (sort === "int") return this.bitwise(bits, left, right);
    const [x, y] = [this.coerce(left, Bool), this.coerce(right, Bool)];
    for (const [p, q] of [[x, y], [y, x]] as const) if (p.op === "const") return Boolean(p.code) === (op === "and") ? q : p;
    return x === y ? x : this.terms.of(op, Bool, x, y);
  }

  not(term: Term): Term {
    if (term.type.sort !== "bool") throw new Mistake(`~ applied to '${show(term)}' of type ${nameOf(term.type)}`, "~ negates a Bool; clear bits with without_bits(x, mask)");
    if (term.op === "const") return this.terms.const(numbers.sub(1, term.code), Bool);
    return term.op === "not" ? (term.args[0] as Term) : this.terms.of("not", Bool, term);
  }

  all(terms: Iterable<Term>): Term {
    let result = this.yes;
    for (const term of terms) result = this.logical("and", result, term);
    return result;
  }

  any(terms: Iterable<Term>): Term {
    let result = this.no;
    for (const term of terms) result = this.logical("or", result, term);
    return result;
  }

  implies(premise: Term, conclusion: Term): Term {
    return this.logical("or", this.not(this.coerce(premise, Bool)), conclusion);
  }

  compare(op: "lt" | "le", left: Term, right: Term): Term {
    const [x, y] = [this.number(left), this.number(right)];
    return x.op === "const" && y.op === "const" ? this.terms.const(folded(op, x, y), Bool) : this.terms.of(op, Bool, x, y);
  }

  equal(left: Term, right: Term): Term {
    let anchor = left;
    if (sortOf(left.type) === "int") {
      if (right.type.sort === "maybe") anchor = right;
      else if (right.type.sort === "index" && left.type.sort === "index") this.coerce(right, left.type);
    }
    const numeric = sortOf(anchor.type) === "int";
    const [x, y] = numeric ? [this.number(left), this.number(right)] : [this.coerce(left, anchor.type), this.coerce(right, anchor.type)];
    if (x.op === "const" && y.op === "const") return this.terms.const(Number(x.code === y.code), Bool);
    return x === y ? this.yes : this.terms.of("eq", Bool, x, y);
  }

  choose(condition: Term, then: Term, otherwise: Term): Term {
    const test = this.coerce(condition, Bool);
    let [x, y] = [then, otherwise];
    let { type } = then;
    if (sortOf(type) === "int") {
      [x, y] = [this.number(then), this.number(otherwise)];
      type = x.type.key === y.type.key ? x.type : int(least(x.type.lo, y.type.lo), most(x.type.hi, y.type.hi));
    } else y = this.coerce(otherwise, type);
    if (test.op === "const") return test.code ? x : y;
    return x === y ? x : this.terms.of("ite", type, test, x, y);
  }

  // Maybes and sets

  get(term: Term): Term {
    if (term.type.sort !== "maybe") throw new Mistake(`'${show(term)}' is ${nameOf(term.type)}, not a Maybe`, "get asks a Maybe(...)");
    const { of } = term.type;
    if (of.sort !== "bool") return this.terms.of("get", of, term);
    return this.terms.of("eq", Bool, this.terms.of("get", int(0, 1), term), this.known(1));
  }

  isNone(term: Term): Term {
    return this.equal(term, this.literal(null, term.type));
  }

  has(holder: Term, element: Term): Term {
    const { type } = holder;
    if (type.sort !== "set") throw new Mistake(`'${show(holder)}' is ${nameOf(type)}, not a set`, "has() asks a SetOf(...)");
    const asked = this.ofType(element, type.of);
    if (holder.op === "const" && asked.op === "const") return this.terms.const(Number(numbers.hasBit(holder.code, numbers.sub(asked.code, type.of.lo))), Bool);
    return this.terms.of("has", Bool, holder, asked);
  }

  size(term: Term): Term {
    const { of } = this.ofSet(term, "size");
    return [...codes(of)].reduce((sum, k) => this.arithmetic("add", sum, this.choose(this.has(term, this.terms.const(k, of)), this.known(1), this.known(0))), this.known(0));
  }

  isEmpty(term: Term): Term {
    return this.equal(term, this.terms.const(0, this.ofSet(term, "is_empty")));
  }

  private ofSet(term: Term, asked: string): SetType {
    if (term.type.sort !== "set") throw new Mistake(`${asked} of '${show(term)}', which is ${nameOf(term.type)}`, `${asked} asks a SetOf(...)`);
    return term.type;
  }

  // Variables

  /** An element of a variable; `at` are values of the types of its indices. */
  element(variable: ModelVariable, at: readonly Term[]): Term {
    return this.terms.element("ref", variable, at.map((one, k) => this.index(variable, one, variable.over[k] as ModelType)));
  }

  private index(variable: ModelVariable, at: Term, of: ModelType): Term {
    if (at.type.sort === "int" && ["int", "bool"].includes(sortOf(of))) {
      if (at.type.hi < of.lo || at.type.lo > of.hi) throw new Mistake(`${variable.name}[${show(at)}] is never in range`, `the index ${nameOf(of)} has other elements`);
      return at;
    }
    const term = this.coerce(at, of);
    return term.type.sort === "bool" && term.op !== "const" ? this.choose(term, this.known(1), this.known(0)) : term;
  }

  /** The term in the state after a step. */
  after(term: Term): Term {
    if (term.op === "ref") return this.terms.element("after", term.variable as ModelVariable, term.args);
    if (!term.args.length || term.op === "after") return term;
    return this.terms.of(term.op, term.type, ...term.args.map((one) => this.after(one)));
  }

  // Functions of the language

  wrap32(value: Term): Term {
    const x = this.number(value);
    if (x.op === "const") return this.known(numbers.wrap32(x.code));
    const fits = JAVA_INT[0] <= x.type.lo && x.type.hi <= JAVA_INT[1];
    return this.terms.of("wrap32", fits ? int(x.type.lo, x.type.hi) : int(...JAVA_INT), x);
  }

  javaAbs(value: Term): Term {
    const x = this.number(value);
    if (x.op === "const") return this.known(numbers.wrap32(magnitude(x.code)));
    const zero = this.known(0);
    const term = this.choose(this.compare("lt", x, zero), this.wrap32(this.arithmetic("sub", zero, x)), x);
    return x.type.lo <= JAVA_INT[0] ? term : this.narrow(term, 0, most(x.type.hi, numbers.sub(0, x.type.lo)));
  }

  minimum(left: Term, right: Term): Term {
    const [x, y] = [this.number(left), this.number(right)];
    return this.narrow(this.choose(this.compare("lt", x, y), x, y), least(x.type.lo, y.type.lo), least(x.type.hi, y.type.hi));
  }

  maximum(left: Term, right: Term): Term {
    const [x, y] = [this.number(left), this.number(right)];
    return this.narrow(this.choose(this.compare("lt", x, y), y, x), most(x.type.lo, y.type.lo), most(x.type.hi, y.type.hi));
  }

  private narrow(term: Term, lo: Code, hi: Code): Term {
    return term.op === "ite" ? this.terms.of("ite", int(lo, hi), ...term.args) : term;
  }

  owner(element: Term): Term {
    const of = element.type;
    if (of.sort !== "index" || !of.owner) throw new Mistake(`'${show(element)}' belongs to no element`, 'owner() takes an element of m.index("Queue", 4, of=Broker) and the like');
    if (element.op === "const") return this.terms.const(numbers.quotient(element.code, of.block), of.owner);
    return this.terms.of("owner", of.owner, element, this.known(of.block));
  }
}

function bitRange(op: Op, x: ModelType, y: ModelType): ModelType {
  if (x.lo >= 0 && y.lo >= 0 && op === "bitand") return int(0, least(x.hi, y.hi));
  if (op === "bitand" && (x.lo >= 0 || y.lo >= 0)) return int(0, x.lo >= 0 ? x.hi : y.hi);
  if (op === "bitandnot" && x.lo >= 0) return int(0, x.hi);
  const largest = BigInt(most(...[x.lo, x.hi, y.lo, y.hi].map(magnitude)));
  const bits = largest === 0n ? 0 : largest.toString(2).length;
  const over = numbers.bit(bits);
  return int(x.lo >= 0 && y.lo >= 0 ? 0 : numbers.sub(0, over), numbers.sub(over, 1));
}

