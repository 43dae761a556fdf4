// Whole numbers as in Python: exact at any size. A number that JavaScript keeps exactly is a `number`, any other a `bigint`.

export type Code = number | bigint;

function exact(value: bigint): Code {
  const short = Number(value);
  return Number.isSafeInteger(short) ? short : value;
}

/** A code of the export: numbers beyond 2**53 are texts there. */
export function codeOf(written: number | string): Code {
  return typeof written === "number" ? written : exact(BigInt(written));
}

/** The result in floating point where it is exact, otherwise by bigints. `+ 0` makes 0 of -0. */
function either(x: Code, y: Code, short: (x: number, y: number) => number, long: (x: bigint, y: bigint) => bigint): Code {
  if (typeof x === "number" && typeof y === "number") {
    const result = short(x, y) + 0;
    if (Number.isSafeInteger(result)) return result;
  }
  return exact(long(BigInt(x), BigInt(y)));
}

export const add = (x: Code, y: Code): Code => either(x, y, (a, b) => a + b, (a, b) => a + b);
export const sub = (x: Code, y: Code): Code => either(x, y, (a, b) => a - b, (a, b) => a - b);
export const mul = (x: Code, y: Code): Code => either(x, y, (a, b) => a * b, (a, b) => a * b);

/** Java's remainder, which has the sign of the dividend; the divisor is not 0. */
export const rem = (x: Code, y: Code): Code => either(x, y, (a, b) => a % b, (a, b) => a % b);

/** Python's `//` of two numbers that are not negative. */
export const quotient = (x: Code, y: Code): Code => either(x, y, (a, b) => Math.floor(a / b), (a, b) => a / b);

const short = (x: Code): x is number => typeof x === "number" && x === (x | 0);

/** A bit operation: JavaScript's own knows 32 bits only. */
function bitwise(x: Code, y: Code, few: (x: number, y: number) => number, many: (x: bigint, y: bigint) => bigint): Code {
  return short(x) && short(y) ? few(x, y) : exact(many(BigInt(x), BigInt(y)));
}

export const bitand = (x: Code, y: Code): Code => bitwise(x, y, (a, b) => a & b, (a, b) => a & b);
export const bitor = (x: Code, y: Code): Code => bitwise(x, y, (a, b) => a | b, (a, b) => a | b);
export const bitandnot = (x: Code, y: Code): Code => bitwise(x, y, (a, b) => a & ~b, (a, b) => a & ~b);

/** The two's complement of the low 32 bits. */
export const wrap32 = (x: Code): Code => (typeof x === "number" ? x | 0 : Number(BigInt.asIntN(32, x)));

/** The set or number in which only this bit is set. */
export const bit = (k: Code): Code => exact(1n << BigInt(k));

/** Whether a bit of a number that is not negative is set. */
export function hasBit(x: Code, k: Code): boolean {
  if (typeof x === "number" && typeof k === "number") return Math.floor(x / 2 ** k) % 2 === 1;
  return (BigInt(x) >> BigInt(k)) % 2n === 1n;
}
