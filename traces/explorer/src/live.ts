// What only the served page can ask: what there is to open, and the state graph. The token comes in the page's URL and goes back in a header; long answers come line by line.

import { checkDocument, type Document, type Start } from "./document";

export interface StateGraph {
  states: number[][];
  depth: number[];
  edges: [number, number, number][];
  complete: boolean;
  truths: boolean[] | null;
}

export type Request =
  | { witness: string }
  | { hazard: string; profile: string }
  | { property: string; profile: string; scope: string; condition: string }
  | { scope: string; profile: string };

export class Server {
  constructor(private readonly token: string) {}

  start(): Promise<Start> {
    return this.ask<Start>("api/start", null);
  }

  open(request: Request, progress: (text: string) => void, signal?: AbortSignal): Promise<Document> {
    return this.stream<{ document?: unknown }>("api/open", request, progress, signal).then((last) => checkDocument(last.document));
  }

  graph(session: string, limit: number, progress: (text: string) => void, signal?: AbortSignal): Promise<StateGraph> {
    return this.stream<StateGraph>("api/graph", { session, limit }, progress, signal);
  }

  private async fetch(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.token}` };
    if (body !== null) headers["Content-Type"] = "application/json";
    const init: RequestInit = { method: body === null ? "GET" : "POST", headers, cache: "no-store" };
    if (body !== null) init.body = JSON.stringify(body);
    if (signal) init.signal = signal;
    let answer: Response;
    try {
      answer = await fetch(path, init);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Error("`rocketproof explore` does not answer any more: start it again and open the address that it prints");
    }
    if (!answer.ok) throw new Error(await refusalText(answer));
    return answer;
  }

  private async ask<T>(path: string, body: unknown): Promise<T> {
    return (await this.fetch(path, body)).json() as Promise<T>;
  }

  /** The last line is the result; lines before it say how far the work is, a line with an error ends it. */
  private async stream<T>(path: string, body: unknown, progress: (text: string) => void, signal?: AbortSignal): Promise<T> {
    const answer = await this.fetch(path, body, signal);
    let last: T | null = null;
    for await (const line of linesOf(answer)) {
      const value = JSON.parse(line) as { progress?: string; error?: string };
      if (value.error) throw new Error(value.error);
      if (value.progress !== undefined) progress(value.progress);
      else last = value as T;
    }
    if (last === null) throw new Error("the answer was cut short: look at the terminal of `rocketproof explore`");
    return last;
  }
}

async function refusalText(answer: Response): Promise<string> {
  try {
    const { error } = (await answer.json()) as { error?: string };
    if (error) return error;
  } catch {
    // no JSON: the status is all there is
  }
  return `the server refused with ${answer.status} ${answer.statusText}`;
}

async function* linesOf(answer: Response): AsyncGenerator<string> {
  const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = done ? "" : (parts.pop() ?? "");
    yield* parts.filter((part) => part.trim());
    if (done) return;
  }
}
