"""Select a few informative programs from a validation of a release, for the tests: `choose_programs.py FOLDER PROFILE FILE [COUNT]`.

FOLDER has the histories of a run of `rocketproof validate --target apache:RELEASE --report`. The selection is greedy: it takes the history
with the most new features per size. Features are requests with field values and responses, steps with arguments, pairs of consecutive
steps, and settings. Large histories and those with concurrent clients are excluded: the latter have no unique order.
"""

from __future__ import annotations

import itertools
import json
import lzma
import re
import sys
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Final

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.runs.parsed import ParsedHistory, load
from rocketproof_properties.judging.reference.differences import differences
from rocketproof_traces.history.exchange import Exchange

COUNT: Final = 200
_LARGEST: Final = 150_000
_NAMES: Final = (
    "bornTimestamp",
    "commitLogOffset",
    "consumerGroup",
    "group",
    "msgId",
    "offset",
    "producerGroup",
    "topic",
    "tranStateTableOffset",
)
"""Fields that are others in each program."""
_WORDS: Final = 24
_FOLDER: Final = re.compile(rb'/(?:[\w.-]+/)*rocketproof-[^"\\]*')


def features(history: ParsedHistory) -> set[Hashable]:
    steps = history.program.steps
    found: set[Hashable] = {("needs", history.program.needs)}
    found |= {(name, key, json.dumps(value, sort_keys=True)[:60]) for name, args in steps for key, value in args.items()}
    found |= {("behind", first, other) for (first, _), (other, _) in itertools.pairwise(steps)}
    return found.union(*(_of_request(exchange) for exchange in history.exchanges))


def _of_request(exchange: Exchange) -> Iterator[Hashable]:
    code = exchange.outcome.get("code")
    yield exchange.op, code, str(exchange.outcome.get("remark") or "")[:_WORDS]
    yield exchange.op, exchange.request.get("version"), exchange.one_way
    for name in exchange.outcome.get("fields") or {}:
        yield exchange.op, "answer", name
    for name, value in exchange.fields.items():
        if name not in _NAMES:
            yield exchange.op, name, str(value)[:_WORDS]
            yield exchange.op, name, str(value)[:_WORDS], code


def choose(folder: Path, profile: str, count: int) -> Iterator[Path]:
    """Yield the histories, those with the most features first."""
    left: dict[Path, set[Hashable]] = {}
    for path in sorted(folder.glob("*.ndjson")):
        if path.stat().st_size <= _LARGEST:
            history = load(path)
            if history.whole and not history.concurrent and not differences(history, PROFILES[profile]):
                left[path] = features(history)
    seen: set[Hashable] = set()
    while left and count:
        best = max(left, key=lambda path: len(left[path] - seen) / path.stat().st_size ** 0.5)
        seen |= left.pop(best)
        count -= 1
        yield best


def main(folder: Path, profile: str, to: Path, count: int = COUNT) -> None:
    chosen = b"".join(path.read_bytes().rstrip(b"\n") + b"\n" for path in choose(folder, profile, count))
    to.write_bytes(lzma.compress(_FOLDER.sub(b"/rocketmq", chosen), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else COUNT)
