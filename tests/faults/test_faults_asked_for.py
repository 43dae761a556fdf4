"""The faults that --faults requests, and errors in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nonempty import nonempty
from rocketproof_properties.brokers import strace
from rocketproof_properties.brokers.served import Served
from rocketproof_properties.catalogue.rules import is_known
from rocketproof_properties.commands import run
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.faults import campaign, kinds
from rocketproof_properties.validation.faults.claims import FAULT_CLAIMS


def test_kinds_have_a_given_or_default_number() -> None:
    assert kinds.parse("kill:3, power") == {"kill": 3, "power": kinds.ROUNDS["power"]}
    assert kinds.parse("DISK") == {"disk": kinds.ROUNDS["disk"]}


@pytest.mark.parametrize(
    ("target", "faults", "message"),
    [
        ("--target served", "fire", "unknown kind of fault 'fire'; use kill, power, disk, threads, slave"),
        ("--target served", "", "unknown kind of fault ''"),
        ("--target served", "kill,kill:2", "kill is named twice"),
        ("--target served", "power:0", "'power:0' has no number of at least 1"),
        ("--target served", "power:", "'power:' has no number of at least 1"),
        ("--target served", "disk:-1", "'disk:-1' has no number of at least 1"),
        ("--target served", "disk:²", "has no number of at least 1"),
        ("--target served", "kill,,power", "unknown kind of fault ''"),
        ("--target inprocess", "power,disk", "rocketproof: --faults power,disk with .* does not offer kill"),
        ("127.0.0.1:9", "power,disk", "rocketproof: --faults power,disk with .* does not offer kill"),
    ],
)
def test_unknown_or_impossible_fault_is_refused(
    target: str, faults: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "report"
    assert run(["validate", *target.split(), "--faults", faults, "--report", str(folder)]) == 2
    assert re.search(message, " ".join(capsys.readouterr().err.split()))
    assert not folder.exists()


def test_without_strace_only_kills_are_possible(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    campaign.refuse(Served("P494"), {"kill": 1, "slave": 1})
    with pytest.raises(InputError, match=r"--faults power,disk: strace is not installed; install it \(Debian: apt install strace\)"):
        campaign.refuse(Served("P494"), {"kill": 1, "power": 1, "disk": 1})
    assert not strace.is_installed()


@pytest.mark.parametrize(
    ("claim", "kind", "broken", "kept"),
    [
        ("start", "power", ("P45", "P494", "P533", "P511", "P540"), ("P550",)),
        ("topic lost", "power", ("P40", "P533"), ("P540",)),
        ("topic lost", "slave", ("P533", "P540"), ("P494", "P520", "P511", "P500", "P550")),
        ("offset lost", "slave", ("P540", "P550"), ("P40", "P494", "P520", "P533")),
        ("topic lost", "kill", (), ("P40", "P533", "P540")),
        ("delivered", "disk", ("P494", "P520", "P511"), ("P533", "P540")),
        ("confirmed", "disk", ("P494", "P533", "P520"), ("P540",)),
        ("delayed", "power", ("P49", "P492"), ("P494", "P533", "P540")),
        ("consume queue", "power", ("P494", "P533", "P540"), ("P550",)),
        ("next offset", "power", ("P494", "P533"), ("P540",)),
        ("consume queue", "kill", (), ("P494", "P533")),
        ("lost", "power", (), ("P40", "P540")),
        ("back", "threads", ("P494", "P520", "P511"), ("P533", "P540")),
        ("back", "disk", (), ("P494", "P520", "P533")),
        ("answered", "threads", ("P493", "P494", "P533", "P550"), ("P40",)),
        ("answered", "disk", (), ("P494", "P533")),
    ],
)
def test_catalogue_has_the_known_violations_of_a_profile(claim: str, kind: str, broken: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert all(FAULT_CLAIMS[claim].why_not(kind, profile) for profile in broken)
    assert not any(FAULT_CLAIMS[claim].why_not(kind, profile) for profile in kept)


def test_every_claim_is_of_the_description() -> None:
    for name, one in nonempty(FAULT_CLAIMS.items()):
        assert name == one.name and all(map(is_known, one.ids.split())) and one.sentence
