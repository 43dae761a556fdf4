"""Campaigns: a program is its seed and number wherever it runs; outcomes are kept, taken up again, merged and made small."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_model import RocketproofError
from rocketproof_properties.commands import run as command
from rocketproof_properties.commands.campaign import run as running
from rocketproof_properties.commands.campaign.run import CampaignOptions, parts, shards
from rocketproof_properties.commands.campaign.shard import Shard, ShardResult, perform
from rocketproof_properties.commands.campaign.show import render
from rocketproof_properties.commands.campaign.totals import CampaignTotals
from rocketproof_properties.commands.checks.plan import CheckTask
from rocketproof_properties.commands.checks.programs import tasks
from rocketproof_properties.reports.choices import InputError

SCOPES = ("persistence", "flush", "answers")


@pytest.fixture(scope="module")
def few() -> list[CheckTask]:
    """Tasks of some quick parts, and of one condition of messages."""
    every = tasks("P49")
    sources = list(dict.fromkeys(task.source for task in every))
    small = [source for source in sources if source.scope in SCOPES][:4]
    small += [source for source in sources if dict(source.given).get("programs") == "half messages"]
    return [task for task in every if task.source in small]


def here(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
    """Run the shards sequentially in this process."""
    return map(function, items)


def quiet(*said: object) -> None:
    pass


def wanted(folder: Path, **changes: Any) -> CampaignOptions:
    return replace(CampaignOptions("P49", 60, 5, folder / "campaign"), **changes)


def test_program_is_same_in_any_shard(few: list[CheckTask]) -> None:
    part = parts(few)[0]
    whole = perform(Shard(part, 3, 0, 12))
    pieces = CampaignTotals()
    for first in (8, 0, 4):
        pieces.add(perform(Shard(part, 3, first, 4)))
    together = CampaignTotals()
    together.add(whole)
    assert whole.programs == pieces.programs == 12
    assert whole.steps == pieces.steps
    assert together.coverage == pieces.coverage
    assert {key: shown.steps for key, (shown, _) in together.shown.items()} == {
        key: shown.steps for key, (shown, _) in pieces.shown.items()
    }


def test_another_seed_gives_other_programs(few: list[CheckTask]) -> None:
    part = parts(few)[0]
    assert len({perform(Shard(part, seed, 0, 8)).steps for seed in range(6)}) > 1


def test_outcomes_survive_json(few: list[CheckTask]) -> None:
    for part in (parts(few)[0], parts(few)[-1]):
        came = perform(Shard.read(json.loads(json.dumps(Shard(part, 1, 0, 20).data()))))
        assert came.shown
        assert ShardResult.read(json.loads(json.dumps(came.data()))) == came


def test_step_pairs_estimate_unseen_pairs(few: list[CheckTask], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = parts(few)[0]
    came = perform(Shard(part, 3, 0, 12))
    assert sum(came.pairs.values()) == came.steps - came.programs  # the first step of a program follows none
    render(running.run(wanted(tmp_path, programs=20), few, here, quiet))
    assert re.search(r"\d+ of \d+ kinds of steps after a step came once: one step in ", " ".join(capsys.readouterr().out.split()))


def test_parts_share_programs_in_turn(few: list[CheckTask]) -> None:
    made = parts(few)
    planned = shards(made, 5 * 450, 0)
    assert [shard.part for shard in planned[: len(made)]] == list(made)
    assert {sum(s.programs for s in planned if s.part == part) for part in made} == {450}
    assert len({shard.key for shard in planned}) == len(planned)


def test_campaign_writes_smallest_programs(few: list[CheckTask], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = running.run(wanted(tmp_path), few, here, quiet)
    assert done.exit_code == 0
    assert done.totals.shards == done.of == len(parts(few))
    assert done.findings
    listed = json.loads((tmp_path / "campaign" / "findings.json").read_text())
    assert [row["file"] for row in listed] == [finding.file for finding in done.findings]
    witness = next(finding for finding in done.findings if finding.file.endswith(".itf.json") and finding.expected == "violated")
    assert command(["replay", witness.file]) == 0
    assert f"{len(witness.steps)} steps" in capsys.readouterr().out or len(witness.steps) == 1


def test_campaign_resumes_where_it_stopped(few: list[CheckTask], tmp_path: Path) -> None:
    def interrupted(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        yield function(items[0])
        yield function(items[1])
        raise KeyboardInterrupt

    first = running.run(wanted(tmp_path, programs=10), few, interrupted, quiet)
    assert (first.exit_code, first.stopped, first.totals.shards) == (3, "Ctrl-C", 2)
    log = tmp_path / "campaign" / "shards.jsonl"
    with log.open("a") as file:
        file.write('{"key": "cut o')  # the process ended while it wrote
    asked: list[str] = []

    def rest(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        asked.extend(items)
        return here(function, items)

    second = running.run(wanted(tmp_path, programs=10), few, rest, quiet)
    assert len(asked) == second.of - 2
    whole = running.run(wanted(tmp_path / "other", programs=10), few, here, quiet)
    assert second.totals == whole.totals
    assert [finding.steps for finding in second.findings] == [finding.steps for finding in whole.findings]
    assert all(json.loads(line) for line in log.read_text().splitlines())


def test_time_limit_keeps_completed_runs(few: list[CheckTask], tmp_path: Path) -> None:
    done = running.run(wanted(tmp_path, seconds=1e-9), few, here, quiet)
    assert (done.exit_code, done.totals.shards) == (3, 1)


def test_another_campaign_in_folder_is_refused(few: list[CheckTask], tmp_path: Path) -> None:
    running.run(wanted(tmp_path, programs=5), few, here, quiet)
    with pytest.raises(InputError, match=r"holds a campaign with --profile P49, --programs 5, --seed 5"):
        running.run(wanted(tmp_path, programs=5, seed=6), few, here, quiet)


def test_folder_with_other_files_is_refused(few: list[CheckTask], tmp_path: Path) -> None:
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        running.run(wanted(tmp_path), few, here, quiet)


def test_failing_shard_ends_campaign_with_one_line(few: list[CheckTask], tmp_path: Path) -> None:
    with pytest.raises(RocketproofError, match="no such part"):
        running.run(wanted(tmp_path), few, lambda function, items: iter(['{"error": "no such part"}']), quiet)


def test_deviation_is_found_once_and_kept_as_test(few: list[CheckTask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The implementation forgets to persist a topic: every persistence part reports it, with one small program each."""
    monkeypatch.setattr(TopicConfigManager, "persist", lambda self: None)
    few = [task for task in few if task.source.scope == "persistence"]
    done = running.run(wanted(tmp_path), few, here, quiet)
    assert done.exit_code == 1
    assert done.unexpected
    assert len({finding.steps for finding in done.unexpected}) == len(done.unexpected)
    for failing in done.unexpected:
        assert len(failing.steps) <= 4, failing.steps
        assert Path(failing.file).read_text().startswith("from rocketproof_properties.conformance.stateful.replay import replay")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["campaign", "--engine", "local", "--master", "local[2]"]) == 2
    assert "leave out one of them" in capsys.readouterr().err
    assert command(["campaign", "--seed", "-1"]) == 2
    assert command(["campaign", "--programs", "0"]) == 2


def test_message_programs_run_requested_number(few: list[CheckTask]) -> None:
    part = next(part for part in running.parts(few) if part.source.is_messages)
    easy = replace(part, expected=tuple((id_, verdict) for id_, verdict in part.expected if verdict == "violated"))
    assert easy.expected
    came = perform(Shard(easy, 5, 0, 20))
    assert came.programs >= 20 and {example.claim for example in came.shown} == {id_ for id_, _ in easy.expected}
