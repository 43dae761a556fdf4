"""A campaign: its shards spread over processes or over Spark, each shard's outcome kept at once, and taken up again where it was left.

The folder holds `campaign.json` (what is asked), `shards.jsonl` (what came of each shard, one a line) and, at the end, the findings.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocketproof_model import RocketproofError, interrupts
from rocketproof_protocol.shown import json_text
from rocketproof_traces.common.pools import WorkerPool

from ...reports import files as store
from ...reports.choices import InputError
from ...reports.exitcode import exit_code
from ..checks.plan import CheckTask
from .shard import CampaignPart, Shard, ShardResult, perform
from .totals import CampaignFinding, CampaignTotals, conclude

MOST = 200  # programs of a shard: some seconds
_ASKED, _LOG = "campaign.json", "shards.jsonl"


@dataclass(frozen=True)
class CampaignOptions:
    """What a campaign is to do: `programs` shared evenly by the parts. `seconds`: when to begin no further shard."""

    profile: str
    programs: int
    seed: int
    folder: Path
    seconds: float | None = None


@dataclass
class CampaignResult:
    """A campaign as far as it went: `of` shards were planned."""

    totals: CampaignTotals
    found: list[CampaignFinding]
    of: int
    stopped: str
    seconds: float

    @property
    def unexpected(self) -> list[CampaignFinding]:
        return [one for one in self.found if not one.is_expected()]

    @property
    def exit_code(self) -> int:
        return exit_code(findings=self.unexpected, undecided=self.stopped)


def parts(tasks: Sequence[CheckTask]) -> tuple[CampaignPart, ...]:
    """The parts that the tasks are about, each with the expected verdicts."""
    expected: dict[Any, dict[str, str]] = {}
    for task in tasks:
        expected.setdefault(task.source, {}).setdefault(task.claim, task.expected)
    return tuple(CampaignPart(source, tuple(claims.items())) for source, claims in expected.items())


def shards(made: Sequence[CampaignPart], programs: int, seed: int) -> list[Shard]:
    """The shards of all parts, one of each part after another, so that any beginning of the list has seen them all."""
    each = -(-programs // len(made))
    return [Shard(part, seed, first, min(MOST, each - first)) for first in range(0, each, MOST) for part in made]


def run(wanted: CampaignOptions, tasks: Sequence[CheckTask], spread: WorkerPool, report: Callable[[str, int, int], None]) -> CampaignResult:
    """Run what the folder does not have yet, and put all together. Raises InputError if the folder holds another campaign."""
    begun = time.monotonic()
    made = parts(tasks)
    all_ = shards(made, wanted.programs, wanted.seed)
    kept = _take_up(wanted, all_)
    totals = CampaignTotals()
    for came in kept.values():
        totals.add(came)
    left = [shard for shard in all_ if shard.key not in kept]
    stopped = ""
    by_item = [json_text(shard.data()) for shard in left]
    report("shards", totals.shards, len(all_))
    try:
        with (wanted.folder / _LOG).open("a", encoding="utf-8") as log:
            for text in spread(answer, by_item):
                totals.add(_kept(text, log))
                report(f"{totals.programs:,} programs, shards", totals.shards, len(all_))
                if wanted.seconds is not None and time.monotonic() - begun > wanted.seconds and totals.shards < len(all_):
                    stopped = "the time limit"
                    break
    except KeyboardInterrupt:
        interrupts.heard()
        stopped = "Ctrl-C"
    except OSError as error:
        raise InputError(f"{wanted.folder / _LOG} cannot be written ({error.strerror}); what is there is kept: fix it and go on") from None
    report("making findings small", totals.shards, len(all_))
    found = conclude(totals, made, tasks, wanted.seed, wanted.folder / "findings")
    store.write_json(wanted.folder / "findings.json", (one.data() for one in found), "--out")
    return CampaignResult(totals, found, len(all_), stopped, time.monotonic() - begun)


def _kept(answer: str, log: Any) -> ShardResult:
    """A shard's outcome, written down before it counts. Raises RocketproofError for a shard that failed."""
    data = json.loads(answer)
    if "error" in data:
        raise RocketproofError(data["error"])
    log.write(answer + "\n")
    log.flush()
    return ShardResult.read(data)


def _take_up(wanted: CampaignOptions, all_: Sequence[Shard]) -> dict[str, ShardResult]:
    """What the folder has already; it is made if it is not there. Raises InputError."""
    asked = {"schema": 1, "profile": wanted.profile, "programs": wanted.programs, "seed": wanted.seed}
    path, log = wanted.folder / _ASKED, wanted.folder / _LOG
    try:
        wanted.folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            if any(wanted.folder.iterdir()):
                raise InputError(f"{wanted.folder} has other files in it; give --out a new folder, or that of a campaign to go on with")
            store.write_json(path, asked, "--out")
        before = json.loads(path.read_text(encoding="utf-8"))
        lines = log.read_bytes().split(b"\n") if log.exists() else []
    except OSError as error:
        raise InputError(f"--out {wanted.folder} cannot be used ({error.strerror}); give a folder of your own") from None
    except ValueError:
        raise InputError(f"{path} is not a campaign; give --out a new folder") from None
    if before != asked:
        was = ", ".join(f"--{key} {before.get(key)}" for key in ("profile", "programs", "seed"))
        raise InputError(f"{wanted.folder} holds a campaign with {was}; ask for the same to go on with it, or give --out a new folder")
    known = {shard.key for shard in all_}
    kept: dict[str, ShardResult] = {}
    good = 0
    for line in lines[:-1]:
        try:
            came = ShardResult.read(json.loads(line))
        except (ValueError, TypeError, KeyError, SyntaxError):
            break
        good += len(line) + 1
        if came.key in known:
            kept[came.key] = came
    if lines and good < sum(len(line) + 1 for line in lines) - 1:  # the last line was cut off: its shard is run again
        with log.open("r+b") as file:
            file.truncate(good)
    return kept


def answer(item: str) -> str:
    """Perform a shard, text in and text out; a refusal is an answer too."""
    try:
        return json_text(perform(Shard.read(json.loads(item))).data())
    except RocketproofError as error:
        return json.dumps({"error": str(error)})
