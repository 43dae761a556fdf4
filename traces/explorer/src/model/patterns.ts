// Parts of patterns for texts: letters as Python knows them, and a text that stands for itself.

/** A letter of a word; JavaScript's own `\w` knows ASCII only. */
export const LETTER = "[\\p{L}\\p{N}_]";

/** A pattern that matches this text. */
export const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
