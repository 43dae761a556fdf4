// A server as the explorer's, over a small system of its own, so that what a page asks for can be seen without Python.

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TraceDocument } from "../src/document";
import type { StateGraph } from "../src/live";
import { Model } from "../src/model/model";
import { hazard, history, trace } from "./example";

export const TOKEN = "secret";
const model = Model.of(trace()) as Model;

function graph(first: number[], limit: number): StateGraph {
  const known = new Map([[first.join(), 0]]);
  const states = [first];
  const depth = [0];
  const edges: [number, number, number][] = [];
  for (let k = 0; k < states.length; k++) {
    for (const choice of model.options(states[k] as number[]).enabled) {
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
  const live = (one: TraceDocument): TraceDocument => ({ ...one, live: { session: "s1" } });
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
