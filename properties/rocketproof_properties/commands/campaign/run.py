"""Run a campaign: distribute its shards over processes or Spark, save each shard's result at once, and resume.

The folder holds `campaign.json` (the options), `shards.jsonl` (one shard's result per line) and finally the findings.
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
from rocketproof_traces.common.pools import WorkerPool, first_and_more

from ...reports import files as store
from ...reports.choices import InputError
from ...reports.exitcode import exit_code
from ...reports.output import counted
from ..checks.plan import CheckTask
from .shard import CampaignPart, Shard, ShardResult, perform
from .totals import CampaignFinding, CampaignTotals, conclude

MOST = 200  # programs per shard: a few seconds
_ASKED, _LOG = "campaign.json", "shards.jsonl"


@dataclass(frozen=True)
class CampaignOptions:
    """Options of a campaign. `programs` are divided evenly among the parts. No shard begins after `seconds`."""

    profile: str
    programs: int
    seed: int
    folder: Path
    seconds: float | None = None


@dataclass
class CampaignResult:
    """A complete or interrupted campaign. `of` is the number of planned shards."""

    totals: CampaignTotals
    findings: list[CampaignFinding]
    of: int
    stopped: str
    seconds: float

    @property
    def unexpected(self) -> list[CampaignFinding]:
        return [finding for finding in self.findings if not finding.is_expected()]

    @property
    def exit_code(self) -> int:
        return exit_code(findings=self.unexpected, undecided=self.stopped)


def parts(tasks: Sequence[CheckTask]) -> tuple[CampaignPart, ...]:
    """Return the parts that the tasks belong to, each with the expected verdicts."""
    expected: dict[Any, dict[str, str]] = {}
    for task in tasks:
        expected.setdefault(task.source, {}).setdefault(task.claim, task.expected)
    return tuple(CampaignPart(source, tuple(claims.items())) for source, claims in expected.items())


def shards(parts_: Sequence[CampaignPart], programs: int, seed: int) -> list[Shard]:
    """Return the shards of all parts, round robin, so that each prefix of the list covers the parts evenly."""
    per_part = -(-programs // len(parts_))
    return [Shard(part, seed, first, min(MOST, per_part - first)) for first in range(0, per_part, MOST) for part in parts_]


def run(
    options: CampaignOptions, tasks: Sequence[CheckTask], spread: WorkerPool, report: Callable[[str, int, int], None]
) -> CampaignResult:
    """Run the shards that the folder does not have yet, and merge all results. Raises InputError if the folder holds another campaign."""
    begun = time.monotonic()
    campaign_parts = parts(tasks)
    all_ = shards(campaign_parts, options.programs, options.seed)
    kept = _resume(options, all_)
    totals = CampaignTotals()
    for result in kept.values():
        totals.add(result)
    remaining = [shard for shard in all_ if shard.key not in kept]
    stopped = ""
    by_item = [json_text(shard.data()) for shard in remaining]
    report("shards", totals.shards, len(all_))
    try:
        with (options.folder / _LOG).open("a", encoding="utf-8") as log:
            for text in spread(answer, by_item):
                totals.add(_append(text, log))
                report(f"{counted(totals.programs, 'program')}, shards", totals.shards, len(all_))
                if options.seconds is not None and time.monotonic() - begun > options.seconds and totals.shards < len(all_):
                    stopped = "the time limit"
                    break
    except KeyboardInterrupt:
        interrupts.heard()
        stopped = "Ctrl-C"
    except OSError as error:
        raise InputError(f"{options.folder / _LOG} cannot be written ({error.strerror}); what is there is kept: fix it and go on") from None
    report("making findings small", totals.shards, len(all_))
    findings = conclude(totals, campaign_parts, tasks, options.seed, options.folder / "findings")
    store.write_json(options.folder / "findings.json", (finding.data() for finding in findings), "--out")
    return CampaignResult(totals, findings, len(all_), stopped, time.monotonic() - begun)


def _append(text: str, log: Any) -> ShardResult:
    """Append a shard's result to the log and return it. Raises RocketproofError for a shard that failed."""
    data = json.loads(text)
    if "error" in data:
        raise RocketproofError(data["error"])
    log.write(text + "\n")
    log.flush()
    return ShardResult.read(data)


def _resume(options: CampaignOptions, all_: Sequence[Shard]) -> dict[str, ShardResult]:
    """Return the results that the folder already has; create the folder if needed. Raises InputError."""
    requested = {"schema": 1, "profile": options.profile, "programs": options.programs, "seed": options.seed}
    path, log = options.folder / _ASKED, options.folder / _LOG
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            if any(options.folder.iterdir()):
                raise InputError(f"{options.folder} has other files in it; give --out a new folder, or that of a campaign to go on with")
            store.write_json(path, requested, "--out")
        recorded = json.loads(path.read_text(encoding="utf-8"))
        lines = log.read_bytes().split(b"\n") if log.exists() else []
    except OSError as error:
        raise InputError(f"--out {options.folder} cannot be used ({error.strerror}); give a folder of your own") from None
    except ValueError:
        raise InputError(f"{path} is not a campaign; give --out a new folder") from None
    if recorded != requested:
        earlier = ", ".join(f"--{key} {recorded.get(key)}" for key in ("profile", "programs", "seed"))
        raise InputError(f"{options.folder} holds a campaign with {earlier}; ask for the same to go on with it, or give --out a new folder")
    known = {shard.key for shard in all_}
    kept: dict[str, ShardResult] = {}
    good = 0
    for line in lines[:-1]:
        try:
            result = ShardResult.read(json.loads(line))
        except (ValueError, TypeError, KeyError, SyntaxError):
            break
        good += len(line) + 1
        if result.key in known:
            kept[result.key] = result
    if lines and good < sum(len(line) + 1 for line in lines) - 1:  # the last line was cut off: its shard is run again
        with log.open("r+b") as file:
            file.truncate(good)
    return kept


def description(items: Sequence[str]) -> str:
    """Describe shards given as JSON text: the first one, and how many more."""
    return first_and_more(Shard.read(json.loads(items[0])).key, len(items), "shards")


def answer(item: str) -> str:
    """Run a shard given as JSON text and return its result as JSON text. A RocketproofError becomes `{"error": ...}`."""
    try:
        return json_text(perform(Shard.read(json.loads(item))).data())
    except RocketproofError as error:
        return json.dumps({"error": str(error)})
