// A term that the language does not have: the problem and the remedy, as Python's `ModelError` has them.

export class Mistake extends Error {
  readonly problem: string;
  readonly remedy: string;

  constructor(problem: string, remedy: string) {
    super(`${problem}; ${remedy}`);
    this.problem = problem;
    this.remedy = remedy;
  }
}

/** A text that is no expression of the model. The message begins with the column, which counts from 1. */
export class ReadingError extends Error {
  /** `at` is the position in the text, counted from 0. */
  constructor(at: number, problem: string, remedy: string) {
    super(`column ${at + 1}: ${problem}; ${remedy}`.replace(/\s+/g, " "));
  }
}
