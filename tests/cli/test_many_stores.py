"""The command `audit` with many stores: folders of stores, patterns, a manifest, stores that cannot be read, and a short summary."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_properties.commands import run
from rocketproof_properties.commands.audits import show
from rocketproof_properties.commands.audits.folders import folders_of
from rocketproof_properties.commands.audits.manifest import read_manifest
from rocketproof_properties.reports.choices import InputError

A = TypeVar("A")
B = TypeVar("B")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("audited") / "store"
    fabricate(root, StorePlan(20_000, topics=2, queues=1, bodies=(100, 300), file_size=20_000, queue_file_size=20_000))
    return root


@pytest.fixture
def fleet(sound: Path, tmp_path: Path) -> Path:
    """Return a folder with three sound stores, a damaged one and one without a log, at different depths."""
    root = tmp_path / "fleet"
    for name in ("eu/a", "eu/b", "us/east/c", "us/d"):
        shutil.copytree(sound, root / name)
    spoil(root / "us/d")
    (root / "us/e/commitlog").mkdir(parents=True)
    return root


def spoil(store: Path) -> None:
    """Make the reconsume times of the first record negative."""
    with min((store / "commitlog").iterdir()).open("r+b") as file:
        file.seek(72)
        file.write(b"\xff" * 4)


def local(*tokens: str | Path) -> int:
    return run(["audit", *map(str, tokens), "--engine", "local", "--cores", "1"])


def summary(out: Path) -> dict[str, dict[str, str]]:
    return {Path(row["store"]).name: row for row in json.loads((out / "summary.json").read_text())["stores"]}


def test_stores_below_a_folder_are_found(fleet: Path) -> None:
    assert [Path(store).name for store in folders_of([str(fleet)])] == ["a", "b", "d", "e", "c"]
    assert folders_of([str(fleet / "eu" / "a")]) == (str(fleet / "eu" / "a"),)


def test_pattern_names_stores(fleet: Path) -> None:
    assert [Path(store).name for store in folders_of([str(fleet / "eu" / "*"), str(fleet / "*" / "[ad]")])] == ["a", "b", "d"]
    with pytest.raises(InputError, match=r"asia/\*: no store matches it"):
        folders_of([str(fleet / "asia" / "*")])


def test_folder_whose_name_is_like_a_pattern(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "store[1]")
    assert folders_of([str(tmp_path / "store[1]")]) == (str(tmp_path / "store[1]"),)


def test_unreadable_stores_are_rows_and_the_others_are_audited(fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "found"
    assert local(fleet, fleet / "missing", "--out", out) == 2
    rows = summary(out)
    assert {name: row["status"] for name, row in rows.items()} == {
        "a": "audited", "b": "audited", "c": "audited", "d": "audited", "e": "not audited", "missing": "not audited",
    }  # fmt: skip
    assert "has no commit log" in rows["e"]["reason"] and rows["a"]["reason"] == ""
    assert rows["missing"]["reason"] == f"{fleet / 'missing'}: does not exist; give a store's folder, the one that has commitlog in it"
    assert {row["store"] for row in pq.read_table(out / "findings.parquet").to_pylist()} == {str(fleet / "us" / "d")}
    printed = capsys.readouterr().out
    assert "6 stores: 4 audited, 2 not audited" in printed
    assert "in 1 of 6 stores" in printed


def test_strict_audits_nothing_if_a_store_is_missing(fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert local(fleet, fleet / "missing", "--strict", "--out", tmp_path / "found") == 2
    assert local(fleet, "--strict", "--out", tmp_path / "found") == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and "missing: is no folder" in said[0] and "e: has no commit log" in said[1]
    assert not (tmp_path / "found").exists()


def test_findings_equal_those_of_single_audits(fleet: Path, tmp_path: Path) -> None:
    """Small stores are single items of work; a single store is divided into ranges."""
    assert local(fleet / "eu", fleet / "us" / "d", "--out", tmp_path / "all") == 1
    assert local(fleet / "us" / "d", "--out", tmp_path / "one") == 1
    together, alone = (pq.read_table(tmp_path / name / "findings.parquet") for name in ("all", "one"))
    assert together.equals(alone) and alone.num_rows
    both, one = summary(tmp_path / "all")["d"], summary(tmp_path / "one")["d"]
    assert both == one


def test_stopped_audit_of_many_stores_resumes(fleet: Path, tmp_path: Path) -> None:
    from rocketproof_properties.commands.audits import command

    plan, done = command.plan_of("P494", (), 100), list[object]()

    def spread(function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        for number, item in enumerate(items):
            if number == 2 and not done[2:]:
                done.append("stopped")
                raise KeyboardInterrupt
            done.append(item)
            yield function(item)

    stores = tuple(str(fleet / name) for name in ("eu/a", "eu/b", "us/d"))
    stopped = command.run(stores, plan, "P494", tmp_path / "found", spread, lambda done, all_: None)
    assert (stopped.exit_code, [bool(totals.records) for totals in stopped.outcome.totals]) == (3, [True, True, False])
    whole = command.run(stores, plan, "P494", tmp_path / "found", spread, lambda done, all_: None)
    assert whole.exit_code == 1 and len(done) == 4


MANIFESTS = {
    "stores.csv": "path,profile,brokerConf,labels\neu/a,P533,,zone=eu;team=payments\nus/d,,broker.conf,\n",
    "stores.json": json.dumps(
        [{"path": "eu/a", "profile": "P533", "labels": {"zone": "eu", "team": "payments"}}, {"path": "us/d", "brokerConf": "broker.conf"}]
    ),
    "stores.ndjson": '{"path": "eu/a", "profile": "P533", "labels": "zone=eu;team=payments"}\n'
    '{"path": "us/d", "brokerConf": "broker.conf"}\n',
}


@pytest.mark.parametrize("name", [*MANIFESTS, "stores.parquet"])
def test_manifest_gives_each_store_its_profile(name: str, fleet: Path, tmp_path: Path) -> None:
    """Paths are relative to the manifest."""
    if name in MANIFESTS:
        (fleet / name).write_text(MANIFESTS[name])
    else:
        rows = json.loads(MANIFESTS["stores.json"])
        pq.write_table(pa.Table.from_pylist([{**row, "brokerConf": row.get("brokerConf")} for row in rows]), fleet / name)
    (fleet / "broker.conf").write_text("maxMessageSize=100\n")
    out = tmp_path / "found"
    assert local("--manifest", fleet / name, "--out", out) == 1
    rows = summary(out)
    assert (rows["a"]["profile"], rows["a"]["labels"]) == ("P533", {"zone": "eu", "team": "payments"})
    assert (rows["d"]["profile"], rows["d"]["labels"]) == ("P494", {})
    assert rows["a"]["counts"] == {}, "the limit of 100 bytes applies to the other store"
    assert "SIZ-05.stored" in rows["d"]["counts"] or len(rows["d"]["counts"]) > 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "path,profil\nx,P494\n",
            "row 1: the column profil is unknown; the columns are path, profile, brokerConf, labels; did you mean profile?",
        ),
        ("path,profile\nx,P999\n", "row 1: unknown profile 'P999'"),
        ("profile\nP494\n", "row 1: has no path"),
        ("path\n", "has no row"),
    ],
)
def test_wrong_manifest_is_one_line(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stores.csv").write_text(text)
    assert local("--manifest", tmp_path / "stores.csv") == 2
    printed = capsys.readouterr().err
    assert said in printed and printed.count("\n") == 1


def test_manifest_of_a_table_takes_its_rows(tmp_path: Path) -> None:
    (row,) = read_manifest("table:ops.stores", lambda name: [{"path": "/data/a", "labels": {"of": name}, "profile": None}])
    assert (row.path, row.profile, row.labels) == ("/data/a", None, {"of": "ops.stores"})


def test_output_of_many_stores_has_at_most_forty_lines(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Many rules are broken in many stores, and some stores cannot be read."""
    for number in range(30):
        store = fleet / "more" / f"store-{number}"
        shutil.copytree(fleet / "us" / "d", store)
        log = min((store / "commitlog").iterdir())
        log.write_bytes(bytes(byte ^ (number + 1) if position % 997 == 5 else byte for position, byte in enumerate(log.read_bytes())))
        (fleet / "none" / f"store-{number}" / "commitlog").mkdir(parents=True)
    assert local(fleet) == 2
    printed = capsys.readouterr().out
    assert printed.count("\n") <= show.LINES
    assert "more rules (summary.json of --out has all)" in printed
    assert "and 28 more (summary.json of --out has all)" in printed
