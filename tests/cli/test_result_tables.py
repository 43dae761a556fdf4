"""Result tables of judge and campaign, formats that need Spark, and comparisons with runs in tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from many_histories import PROFILE, history, write

from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.commands import run
from rocketproof_properties.commands.campaign.run import CampaignResult
from rocketproof_properties.commands.campaign.shard import CampaignEvidence, Divergence, ShardResult
from rocketproof_properties.commands.campaign.tables import append
from rocketproof_properties.commands.campaign.totals import CampaignFinding, CampaignTotals
from rocketproof_properties.commands.checks.plan import CheckTask
from rocketproof_properties.reports import tables
from rocketproof_properties.reports.tables import TableTarget

RULES = """
from rocketproof.rules import rule

@rule("SLOW", "a request takes at most two seconds", over="exchange", severity="warning")
def slow(exchange):
    return exchange.took <= 2_000_000_000
"""


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table of all runs, each with exactly the columns of its schema."""
    found = []
    for file in sorted((folder / name).iterdir()):
        table = pq.read_table(file)
        assert table.schema.names == [column.name for column in tables.TABLES[name]]
        assert not any(column.null_count for column in table.columns)
        found += table.to_pylist(maps_as_pydicts="strict")
    return found


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two histories: one explained, one with an unexplained response in the part of T1."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "right.ndjson", *history(sends=3))
    write(tmp_path / "in" / "wrong.ndjson", *history(sends=3, wrong="T1"))
    (tmp_path / "slow.py").write_text(RULES)
    return tmp_path


def test_verdicts_have_rows_of_parts_and_of_histories(judged: Path) -> None:
    assert run(["judge", "in", "--profile", PROFILE, "--cores", "1", "--out", "out", "--rules", "slow.py", "--tables", "results"]) == 1
    verdicts = rows(judged / "results", "verdicts")
    assert len({(row["history"], row["kind"], row["part"]) for row in verdicts}) == len(verdicts) == 8
    wholes, parts = ([row for row in verdicts if row["kind"] == kind] for kind in ("history", "part"))
    assert [row["verdict"] for row in wholes] == ["ok", "ok"] and all(row["stamp"] and row["events"] and not row["part"] for row in wholes)
    assert wholes[0]["outOfReach"] == {"asked of the name server": 1}
    assert sorted(row["verdict"] for row in parts) == ["illegal", *["ok"] * 5]
    assert all(row["part"] and row["expanded"] and not row["events"] and not row["stamp"] for row in parts)
    assert sum(row["explained"] for row in parts if row["verdict"] == "ok") == 5 * (6 + 3)  # sends, and reports of the topics
    (made,) = rows(judged / "results", "runs")
    assert (made["command"], made["profile"], made["histories"], made["exitCode"], made["stores"]) == ("judge", PROFILE, 2, 1, 0)
    assert {row["runId"] for row in verdicts} == {made["runId"]}
    metrics = {(Path(row["store"]).stem, row["rule"]): row for row in rows(judged / "results", "metrics")}
    assert {key: row["violated"] for key, row in metrics.items()} == {
        ("right", "SLOW"): 9, ("right", "specification"): 0, ("wrong", "SLOW"): 9, ("wrong", "specification"): 1,
    }  # fmt: skip
    assert metrics["wrong", "specification"]["status"] == "illegal" and metrics["right", "SLOW"]["severity"] == "warning"
    findings = rows(judged / "results", "findings")
    assert [(row["rule"], row["severity"]) for row in findings].count(("SLOW", "warning")) == 18
    (unexplained,) = [row for row in findings if row["rule"] == "specification"]
    assert unexplained["event"] > 0 and unexplained["store"].endswith("wrong.ndjson") and unexplained["outcome"] == "differs"


def test_judge_is_compared_with_its_run_in_tables(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = ["judge", "in", "--profile", PROFILE, "--cores", "1", "--out", "out", "--tables", "results"]
    assert run(judge) == 1
    capsys.readouterr()
    assert run([*judge, "--since", "results"]) == 1
    assert "Newly" not in capsys.readouterr().out
    write(judged / "in" / "right.ndjson", *history(sends=3, wrong="T2"))
    write(judged / "in" / "wrong.ndjson", *history(sends=3))
    first = min((judged / "results" / "runs").iterdir())
    assert run([*judge, "--since", str(first)]) == 1
    out = capsys.readouterr().out
    newly, _, fixed = out.partition("Not as expected before, and no more")
    assert "Newly not as expected" in newly and "right.ndjson" in newly and "wrong.ndjson" in fixed


def test_one_history_without_folder_has_tables_too(judged: Path) -> None:
    assert run(["judge", "in/right.ndjson", "--profile", PROFILE, "--cores", "1", "--tables", "results"]) == 0
    assert len(rows(judged / "results", "verdicts")) == 4 and rows(judged / "results", "findings") == []


def test_audit_is_compared_with_latest_run_in_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    fabricate(tmp_path / "store", StorePlan(20_000, topics=1, queues=1, bodies=(100, 300), file_size=20_000, queue_file_size=20_000))
    audit = ["audit", "store", "--engine", "local", "--cores", "1", "--tables", "results"]
    assert run(audit) == 0
    with min((tmp_path / "store" / "commitlog").iterdir()).open("r+b") as file:
        file.seek(72)
        file.write(b"\xff" * 4)
    capsys.readouterr()
    assert run([*audit, "--since", "results"]) == 1
    out = capsys.readouterr().out
    assert "Newly not as expected" in out and "Properties that are new" not in out
    assert run([*audit, "--since", "results"]) == 1  # now the broken run is the latest
    assert "Newly not as expected" not in capsys.readouterr().out
    (*_, latest) = rows(tmp_path / "results", "findings")
    assert latest["outcome"] == "differs" and latest["place"].startswith(str(tmp_path / "store"))


def test_campaign_has_runs_and_findings(tmp_path: Path) -> None:
    def finding(property_: str, expected: str) -> CampaignFinding:
        return CampaignFinding(property_, "a sentence", expected, "sizes[a]", "P494", "", 7, 15, 2, ("send", "stop"), "text", "x.json", "")

    findings = [finding("", ""), finding("HAZ-01", "violated")]
    done = CampaignResult(CampaignTotals(shards=3, programs=600), findings, 3, "", 1.5)
    append(TableTarget(str(tmp_path)), done, [task("HAZ-01", "violated")], "P494")
    (made,) = rows(tmp_path, "runs")
    assert (made["command"], made["programs"], made["exitCode"], made["seconds"]) == ("campaign", 600, 1, 1.5)
    written = [(row["rule"], row["severity"], row["outcome"], row["place"]) for row in rows(tmp_path, "findings")]
    assert written == [("specification", "error", "differs", "sizes[a]: send ; stop"), ("HAZ-01", "note", "ok", "sizes[a]: send ; stop")]


def task(claim: str, expected: str, kind: str = "always", scope: str = "few") -> CheckTask:
    source = ModelSource(scope, "P494")
    return CheckTask(source, claim.partition(".")[0], claim, kind, f"sentence of {claim}", "", "stateful", "", expected)


def test_campaign_has_metrics_of_parts_and_properties(tmp_path: Path) -> None:
    """`few` has run; Ctrl-C came before the second shard of `many`."""
    tasks = [task("A-1.a", "unknown"), task("A-1.b", "unknown"), task("HAZ-01", "violated"), task("R-1", "holds", "reachable")]
    tasks += [task("A-1.a", "unknown", scope="many"), task("R-2", "holds", "reachable", "many")]
    totals = CampaignTotals()
    seen = [CampaignEvidence(name, 0, []) for name in ("A-1.a", "A-1.b", "HAZ-01")]
    totals.add(ShardResult("few#0+200", "few", 200, shown=seen, departed=[Divergence(n, "", [str(n)], []) for n in (1, 2)]))
    totals.add(ShardResult("few#200+100", "few", 100, shown=[CampaignEvidence("A-1.a", 200, [])]))
    totals.add(ShardResult("many#0+200", "many", 200, shown=[CampaignEvidence("R-2", 0, [])]))
    append(TableTarget(str(tmp_path)), CampaignResult(totals, [], 4, "Ctrl-C", 1.5), tasks, "P494")
    written = rows(tmp_path, "metrics")
    assert [(row["store"], row["rule"], row["severity"], row["violated"], row["unknown"]) for row in written] == [
        ("few", "specification", "error", 1, False), ("few", "A-1", "error", 3, False), ("few", "HAZ-01", "note", 1, False),
        ("few", "R-1", "note", 0, True), ("many", "specification", "error", 0, True), ("many", "A-1", "error", 0, True),
        ("many", "R-2", "note", 0, False),
    ]  # fmt: skip
    assert {(row["store"], row["status"], row["problem"], row["records"]) for row in written} == {
        ("few", "run", "", 300), ("many", "partly run", "stopped by Ctrl-C", 200),
    }  # fmt: skip


WRONG = [
    (["--format", "delta"], "--format delta without --tables; give the tables that it is for"),
    (["--tables", "t", "--format", "delta"], "--tables t --format delta: only Spark writes this, and the engine is local"),
    (["--tables", "table:ops"], "--tables table:ops: only Spark writes this"),
    (["--tables", "s3://bucket/t"], "only Spark writes this"),
    (["--tables", "slow.py"], "--tables slow.py: cannot be written (Not a directory); give another folder"),
    (["--tables", "-"], "- is no folder; give a folder, a URL, or table:NAMESPACE"),
]


@pytest.mark.parametrize(("options", "says"), WRONG)
def test_wrong_targets_are_one_line(options: list[str], says: str, judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judge", str(judged / "in"), "--profile", PROFILE, "--cores", "1", "--out", "out", *options]) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1 and not (judged / "out").exists()


def test_since_rejects_other_tables(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = ["judge", "in", "--profile", PROFILE, "--cores", "1", "--out", "out"]
    append(TableTarget("results"), CampaignResult(CampaignTotals(), [], 0, "", 0.0), [task("HAZ-01", "violated")], "P494")
    assert run([*judge, "--since", "results"]) == 2
    assert "--since results: has no run of judge" in capsys.readouterr().err
    file = judged / "results" / "runs" / "x.parquet"
    pq.write_table(pa.table({"runId": ["x"]}), file)
    assert run([*judge, "--since", str(file)]) == 2
    assert "cannot be read (the column time is missing)" in capsys.readouterr().err
    file.write_bytes(b"x")
    assert run([*judge, "--since", str(file)]) == 2
    assert "cannot be read (" in capsys.readouterr().err
