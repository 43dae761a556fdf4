"""A setting that a target reports in a form that is no number is unknown: what depends on it is not judged, and nothing else is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proportion import few
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import RANGES, readable, unreadable
from rocketproof_properties.brokers.runs.readback import Reader
from rocketproof_properties.judging.claims import OF_SETTINGS
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.validation.again import again
from rocketproof_properties.validation.validate import ValidationRequest, validate

PROFILE = "P494"
TEXTS = st.sampled_from(("1G", "", "0x10", "1e9", "-1", "true", " ", "9" * 40, "1073741824", "6", "0")) | st.text(max_size=4)


@given(st.dictionaries(st.sampled_from((*RANGES, "brokerName", "brokerIP1")), TEXTS))
def test_each_setting_is_known_or_unreadable(settings: dict[str, str]) -> None:
    known, unknown = readable(settings), unreadable(settings)
    assert {**known, **unknown} == settings and not known.keys() & unknown.keys()
    assert all(int(known[name]) in numbers for name, numbers in RANGES.items() if name in known)
    assert not {"1G", "", "true", "0x10"} & {known[name] for name in RANGES if name in known}


@pytest.mark.parametrize("name", few(["mappedFileSizeCommitLog", "maxMessageSize", "brokerPermission", "listenPort"], 2))
def test_unreadable_setting_leaves_dependent_checks_undecided(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Reader.settings
    monkeypatch.setattr(Reader, "settings", lambda self: {**(told(self) or {}), name: "1G"})
    folder = tmp_path / "report"
    made = validate(ValidationRequest(InProcess(PROFILE), folder, 2, 0, shrink=0))
    assert (made.findings, made.stopped) == ([], "")
    assert any(f"no numbers in range; what depends on them is not judged: {name}=1G" in note for note in made.notes)
    for program in made.judged:
        assert "reference" not in program.by and not OF_SETTINGS.get(name, frozenset()) & program.claims.keys() and program.claims
        assert ("specification" in program.by) is (name != "brokerPermission")
    assert json.loads((folder / "report.json").read_text())["verdicts"] and again(folder, None, ()).findings == []


def test_earlier_history_may_contain_unreadable_setting(tmp_path: Path) -> None:
    """That version stored settings as reported, and reading it raised a ValueError."""
    folder = tmp_path / "report"
    (judged,) = validate(ValidationRequest(InProcess(PROFILE), folder, 1, 0, shrink=0)).judged
    header, *events = judged.path.read_text().splitlines()
    origin = json.loads(header)
    origin["origin"]["settings"] |= {"mappedFileSizeCommitLog": "1G", "transactionCheckInterval": "60s"}
    judged.path.write_text("\n".join([json.dumps(origin), *events]) + "\n")
    verdict = judge_file(judged.path, PROFILE)
    assert verdict.findings == [] and "reference" not in verdict.by and "INV-39" not in verdict.claims
