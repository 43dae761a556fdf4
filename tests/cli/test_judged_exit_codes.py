"""The exit code of `rocketproof judge` with bounds: 0, 1 and 3 never contradict the verdicts without a bound."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from compared_opinions import made
from hypothesis import given
from hypothesis import strategies as st

from nonempty import nonempty
from rocketproof_properties.judging import results
from rocketproof_properties.judging.manyhistories import code_of
from rocketproof_properties.reports.exitcode import DIFFERS, OK, STOPPED
from rocketproof_traces.bulk.kinds import UNEXPLAINED
from rocketproof_traces.bulk.results import Summary, _count
from rocketproof_traces.bulk.tables import verdict_row
from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.common.outcomes import JudgingOutcome, all_of
from rocketproof_traces.history import Header, event_line, header_line

Run = Callable[..., Any]
CODES = {"ok": OK, "illegal": DIFFERS, "unknown": STOPPED}
SHAPES = ("updates", "unsaid", "batches", "lost")
LIMITS = (1, 8, 64)


@cache
def judged(shape: str, seed: int) -> tuple[str, str]:
    """Return a random history without its broker's settings, as text, and its verdict without a bound."""
    header, events, _, _ = made(shape, seed, "P494")
    header = Header({name: value for name, value in header.origin.items() if name != "settings"})
    text = "\n".join([header_line(header), *map(event_line, events)]) + "\n"
    return text, judge_history(header, events, "P494").verdict


def test_exit_code_with_a_bound_never_contradicts(rocketproof: Run) -> None:
    codes: Counter[int] = Counter()
    for seed, shape in nonempty((seed, shape) for seed in range(3) for shape in SHAPES):
        text, verdict = judged(shape, seed)
        Path("one.ndjson").write_text(text)
        for limit in LIMITS:
            done = rocketproof("judge", "one.ndjson", "--profile", "P494", "--limit", str(limit), "--json", "found.json")
            data = json.loads(Path("found.json").read_text())
            assert done.code == CODES[data["verdict"]], (shape, seed, limit)
            assert done.code in (CODES[verdict], STOPPED), (shape, seed, limit)
            read = results.read(data)
            assert read is not None and read.exit == done.code, (shape, seed, limit)
            codes[done.code] += 1
    assert codes.keys() == set(CODES.values())


@pytest.mark.parametrize("limit", LIMITS)
def test_exit_code_of_many_histories_with_a_bound_never_contradicts(rocketproof: Run, limit: int) -> None:
    texts = [judged(shape, seed) for seed in range(3) for shape in SHAPES]
    for number, chosen in nonempty(enumerate((texts[:6], [one for one in texts if one[1] == "ok"]))):
        folder = Path(f"histories-{number}")
        folder.mkdir()
        for k, (text, _) in enumerate(chosen):
            (folder / f"{k}.ndjson").write_text(text)
        done = rocketproof("judge", str(folder), "--profile", "P494", "--limit", str(limit), "--out", f"out-{number}", "--cores", "1")
        whole = all_of(JudgingOutcome(verdict) for _, verdict in chosen)
        assert done.code in (CODES[whole], STOPPED)


FINDING = {
    "kind": UNEXPLAINED, "file": None, "line": None, "part": "T at broker-a", "seq": 1, "process": "p", "op": "send", "recorded": "code 0",
    "specified": "answers code 1", "action": "", "guard": "", "sentence": "", "values": "{}", "prefix": [], "steps": [], "state": "{}",
}  # fmt: skip
PARTS = st.lists(st.lists(st.sampled_from(JudgingOutcome), min_size=1, max_size=3), min_size=1, max_size=4)


@given(PARTS)
def test_exit_code_of_any_mixture_is_that_of_its_combination(histories: list[list[JudgingOutcome]]) -> None:
    """Refused parts take precedence over undecided parts, and undecided parts never count as explained."""
    found, verdicts = Summary("P494"), dict[str, str]()
    for number, parts in enumerate(histories):
        for k, part in enumerate(parts):
            unknown = f"part {k}: stopped" if part is JudgingOutcome.UNDECIDED else None
            findings = [FINDING] if part is JudgingOutcome.REFUSED else []
            row = verdict_row(str(number), str(k), part.value, unknown=unknown, outOfReach="{}", findings=findings)
            _count(found, row, verdicts)
    found.histories.update(verdicts.values())
    combined = all_of(chain.from_iterable(histories))
    assert found.verdict == combined
    assert code_of(found) == CODES[combined]
    read = results.read(json.loads(json.dumps(found.data())))
    assert read is not None and read.exit == CODES[combined]
