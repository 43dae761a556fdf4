// A server as the explorer's, over a small system of its own, so that what a page asks for can be seen without Python.

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Choice, TraceDocument } from "../src/document";
import type { At, StateGraph } from "../src/live";
import { hazard, history, trace } from "./example";

export const TOKEN = "secret";
const CLIENTS = ["client 1", "client 2"];
const LARGEST = 1000; // of the counter

/** What can happen in a state: [counter, phase of client 1, phase of client 2, asked]. */
function enabled(state: number[]): Choice[] {
  const step = (action: string, c: number, slot: number, code: number, by: string, to: string | null): Choice => ({ action, args: [c], label: `${action}(${CLIENTS[c]})`, sentence: `${CLIENTS[c]} does ${action}`, effect: [[slot, code]], error: "", by, to, from: null });
  return [0, 1].flatMap((c) => {
    const client = CLIENTS[c] as string;
    const found = [step("work", c, 1 + c, ((state[1 + c] ?? 0) + 1) % 3, client, null), step("ask", c, 3, ((state[3] ?? 0) + 1) % 3, client, "server")];
    return (state[0] ?? 0) < LARGEST ? [...found, step("add", c, 0, (state[0] ?? 0) + 1, "server", null)] : found;
  });
}

function at(state: number[]): At {
  const bad = (state[0] ?? 0) > 1;
  const refused = [{ action: "crash", args: [0], label: "crash(client 1)", guard: "in turn", sentence: "it is this client's turn", bound: false, part: "", values: [["turn", "0"]] as [string, string][], error: "" }];
  return { choices: { enabled: enabled(state), refused: [0], more: [] }, refusals: refused, truth: { word: bad ? "fails" : "holds", bad, part: bad ? "counter <= 1" : "", values: [["counter", String(state[0])]] } };
}

function graph(first: number[], limit: number): StateGraph {
  const known = new Map([[first.join(), 0]]);
  const states = [first];
  const depth = [0];
  const edges: [number, number, number][] = [];
  for (let k = 0; k < states.length; k++) {
    for (const choice of enabled(states[k] as number[])) {
      const next = [...(states[k] as number[])];
      for (const [slot, code] of choice.effect) next[slot] = code;
      let to = known.get(next.join());
      if (to === undefined && states.length < limit) {
        known.set(next.join(), (to = states.length));
        states.push(next);
        depth.push((depth[k] ?? 0) + 1);
      }
      if (to !== undefined) edges.push([k, to, ["work", "ask", "add"].indexOf(choice.action)]);
    }
  }
  return { states, depth, edges, complete: states.length < limit, truths: states.map((state) => (state[0] ?? 0) <= 1) };
}

export interface Served {
  address: string;
  asked: string[]; // the paths that were asked for, in order
  close: () => Promise<void>;
}

/** Serve a document at the start, or the catalogue if there is none. */
export async function serve(document: TraceDocument | null): Promise<Served> {
  const live = (one: TraceDocument): TraceDocument => ({ ...one, choices: one.states.map((state) => at(state).choices), refusals: at([0]).refusals, live: { session: "s1" } });
  const asked: string[] = [];
  const answer = async (request: IncomingMessage): Promise<[number, string]> => {
    const path = new URL(request.url ?? "/", "http://x").pathname;
    asked.push(path);
    if (path === "/") return [200, readFileSync(join(process.env["EXPLORER"] ?? "", "../rocketproof_traces/explorer/page.html"), "utf8")];
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return [403, JSON.stringify({ error: "the token is missing" })];
    const body = JSON.parse((await text(request)) || "null") as Record<string, unknown>;
    if (path === "/api/start") {
      const cases = [{ profile: "P49", scope: "tiny", condition: "", expected: "violated" }];
      const catalogue = { properties: [{ id: "COUNT-01", sentence: "the counter never exceeds the limit", cases }, { id: "COUNT-02", sentence: "somebody is served", cases }], hazards: [{ id: "HAZ-01", title: "counters overflow", profile: "P49", properties: ["COUNT-01"], steps: ["A client adds.", "The counter overflows."] }], witnesses: [{ id: "w1", title: "COUNT-01", path: "count.itf.json" }, { id: "w2", title: "run 7", path: "run.ndjson" }], scopes: [{ name: "tiny", about: "two clients" }] };
      return [200, JSON.stringify({ document: document && live(document), catalogue, version: "1.2.3" })];
    }
    if (path === "/api/open") {
      if (body["hazard"]) return [200, lines({ document: hazard() })];
      if (body["property"] === "COUNT-02") return [200, lines({ progress: "10 states" }, { error: "COUNT-02 holds: there is no counterexample to walk in" })];
      if (body["witness"] === "w2") return [200, lines({ document: history() })];
      return [200, lines({ progress: "10 states" }, { document: live(trace()) })];
    }
    if (path === "/api/at") return [200, JSON.stringify(at(body["state"] as number[]))];
    if (path === "/api/evaluate") {
      const expression = body["expression"] as string;
      const slot = { counter: 0, asked: 3 }[expression.replace("'", "")];
      if (slot === undefined) return [200, JSON.stringify({ type: "", values: [], error: `${expression}: no such variable`, of_step: false })];
      return [200, JSON.stringify({ type: "int", values: (body["states"] as number[][]).map((state) => String(state[slot])), error: null, of_step: expression.endsWith("'") })];
    }
    if (path === "/api/graph") return [200, lines({ progress: "100 states" }, graph([0, 0, 0, 0], body["limit"] as number))];
    return [404, JSON.stringify({ error: "nothing is here" })];
  };
  const server: Server = createServer((request, response) => {
    void answer(request).then(([status, content]) => {
      response.writeHead(status, { "Content-Type": content.startsWith("<") ? "text/html; charset=utf-8" : "application/json" });
      response.end(content);
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?token=${TOKEN}`;
  return {
    address,
    asked,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

const lines = (...values: unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");

async function text(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
