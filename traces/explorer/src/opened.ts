// What the server was asked to open, as text that stands in the page's address, and back.

import type { Request } from "./live";

const MARK = "|";

export function requestText(request: Request): string {
  if ("witness" in request) return ["witness", request.witness].join(MARK);
  if ("hazard" in request) return ["hazard", request.hazard, request.profile].join(MARK);
  if ("property" in request) return ["property", request.property, request.profile, request.scope, request.condition].join(MARK);
  return ["scope", request.scope, request.profile].join(MARK);
}

export function readRequest(text: string): Request | null {
  const [sort, first = "", ...rest] = text.split(MARK);
  if (!first) return null;
  if (sort === "witness") return { witness: [first, ...rest].join(MARK) };
  if (sort === "hazard") return { hazard: first, profile: rest[0] ?? "" };
  if (sort === "property") return { property: first, profile: rest[0] ?? "", scope: rest[1] ?? "", condition: rest.slice(2).join(MARK) };
  return sort === "scope" ? { scope: first, profile: rest[0] ?? "" } : null;
}
