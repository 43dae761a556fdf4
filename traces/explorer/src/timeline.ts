// Where a history's operations lie on a time line: bars from call to answer, a lane for each client, more where a client has several at once.

import type { HistoryDocument, Operation } from "./document";

export interface Bar {
  operation: Operation;
  row: number; // from the top, over all lanes
  from: number;
  to: number;
  open: boolean; // its answer is unknown: the bar fades out
  until: number; // where the next bar of its row begins: as far as its text has room
}

export interface Timeline {
  bars: Bar[];
  lanes: { client: string; first: number; rows: number }[];
  begin: number;
  end: number;
  points: { id: number; at: number; row: number }[]; // where each operation of the order takes effect
}

export function timelineOf({ clients, operations, marks, order }: HistoryDocument): Timeline {
  const times = [...operations.flatMap((one) => [one.begin, one.end ?? one.begin]), ...marks.map((mark) => mark.at)];
  const begin = times.reduce((a, b) => Math.min(a, b), times[0] ?? 0);
  const last = times.reduce((a, b) => Math.max(a, b), begin + 1);
  const end = last + Math.max(1, (last - begin) * 0.04);
  const bars: Bar[] = [];
  const latest = new Map<number, Bar>(); // the last bar of each row so far
  const lanes: Timeline["lanes"] = [];
  let first = 0;
  for (const client of byName([...clients, ...operations.map((one) => one.client).filter((one) => !clients.includes(one))])) {
    if (lanes.some((lane) => lane.client === client)) continue;
    const free: number[] = []; // when each row of the lane is free again
    for (const operation of operations.filter((one) => one.client === client).sort((a, b) => a.begin - b.begin)) {
      const open = operation.end === null || operation.outcome === "unknown";
      const to = operation.end ?? end;
      let row = free.findIndex((until) => until <= operation.begin);
      if (row < 0) row = free.length;
      free[row] = Math.max(to, operation.begin + 1);
      const before = latest.get(first + row);
      if (before) before.until = operation.begin;
      const bar = { operation, row: first + row, from: operation.begin, to, open, until: end };
      latest.set(first + row, bar);
      bars.push(bar);
    }
    const rows = Math.max(1, free.length);
    lanes.push({ client, first, rows });
    first += rows;
  }
  return { bars, lanes, begin, end, points: pointsOf(order, bars) };
}

/** Clients by name, numbers in them by value: client 2 before client 10. */
function byName(clients: string[]): string[] {
  return clients.sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
}

/** One point in time for each operation of the order, within its bar and never before the point of the one before it. */
function pointsOf(order: readonly number[], bars: readonly Bar[]): Timeline["points"] {
  const known = new Map(bars.map((bar) => [bar.operation.id, bar]));
  const found: Timeline["points"] = [];
  let now = -Infinity;
  order.forEach((id) => {
    const bar = known.get(id);
    if (!bar) return;
    now = Math.max(now, bar.from);
    found.push({ id, at: now, row: bar.row });
  });
  return spread(found, known);
}

/** Points that fall together move apart, as far as their bars and the next point allow. */
function spread(points: Timeline["points"], bars: ReadonlyMap<number, Bar>): Timeline["points"] {
  const latest = new Array<number>(points.length);
  let bound = Infinity;
  for (let k = points.length - 1; k >= 0; k--) {
    bound = Math.min(bound, bars.get(points[k]?.id ?? -1)?.to ?? Infinity);
    latest[k] = bound;
  }
  let before = -Infinity;
  return points.map((point, k) => {
    const room = Math.max(0, (latest[k] ?? point.at) - Math.max(point.at, before));
    before = Math.max(point.at, before) + Math.min(0.5, room / 3);
    return { ...point, at: before };
  });
}
