"""`rocketproof validate` on the command line: what cannot be done is one line and exit code 2, and its reports are where they should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from target_doubles import Serve, described, greeting, server, silent, web

from rocketproof_properties.brokers import probe
from rocketproof_properties.commands import run

FREE_PORT_OF_NOBODY = "127.0.0.1:9"  # the port of discard, without a listener


def refused(capsys: pytest.CaptureFixture[str], *tokens: str) -> str:
    assert run(["validate", *tokens]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert len(said.err.strip().splitlines()) == 1
    return said.err.strip()


def test_missing_listener_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert FREE_PORT_OF_NOBODY in refused(capsys, FREE_PORT_OF_NOBODY, "--programs", "1", "--report", str(tmp_path / "r"))


@pytest.mark.parametrize("serve", [silent, web, greeting])
def test_server_that_never_answers_or_speaks_another_protocol(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe.ask, "__defaults__", (0.2,))  # instead of 5 s for an answer and 5 s for one in HTTP
    with server(serve) as address:
        assert address in refused(capsys, address, "--programs", "1", "--report", str(tmp_path / "r"))


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ((), "give either the address of a broker"),
        (("127.0.0.1:1", "--target", "served"), "give either the address of a broker"),
        (("--target", "apachee:4.9.4"), "--target apachee:4.9.4: use apache:4.9.4"),
        (("127.0.0.1",), "'127.0.0.1' is not an address"),
        (("127.0.0.1:1", "--profile", "P48"), "unknown profile 'P48'"),
        (("127.0.0.1:1", "--programs", "0"), "--programs 0 is not a positive number"),
        (("127.0.0.1:1", "--shrink", "-1"), "--shrink -1 is negative"),
        (("127.0.0.1:1", "--seed", "-1"), "--seed -1 is negative"),
        (("127.0.0.1:1", "--accept", "nowhere.toml"), "--accept nowhere.toml: cannot be read (No such file or directory)"),
        (("--again", "nowhere"), "--again nowhere: there is no report.json"),
        (("127.0.0.1:1", "--again", "nowhere"), "--again with a broker"),
        (("--target", "served", "--resume", "nowhere"), "--resume goes on with the run of its folder"),
        (("--self-test", "--again", "nowhere"), "--self-test tries a target"),
        (("--self-test", "--faults", "nonsense"), "unknown kind of fault 'nonsense'"),
        (
            ("--target", "nowhere.toml"),
            "nowhere.toml: cannot be read (No such file or directory); give a TOML file",
        ),
    ],
)
def test_invalid_arguments_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokens: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, *tokens)
    assert not list(tmp_path.glob("r*"))


def test_folder_with_something_in_it_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert "exists and is not empty" in refused(capsys, "--target", "inprocess", "--report", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_run_has_one_folder_and_other_reports_are_recognized(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    two = ("--report", str(tmp_path / "a"), "--report", str(tmp_path / "b"))
    assert "a run has one folder" in refused(capsys, "--target", "inprocess", *two)
    assert "unknown kind 'junti'" in refused(capsys, "--target", "inprocess", "--report", "junti:x.xml")
    assert not list(tmp_path.iterdir())


def test_malformed_list_of_accepted_deviations(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "accept.toml"
    path.write_text("[[accept]\n")
    assert "is not TOML" in refused(capsys, "--target", "inprocess", "--accept", str(path))
    path.write_text("accepted = 1\n")
    assert "unknown key 'accepted'; use accept" in refused(capsys, "--target", "inprocess", "--accept", str(path))
    path.write_text('[[accept]]\nproperty = "INV-44"\nfixed = true\nmatch = "x"\nreason = "r"\nuntil = 2999-01-31\n')
    assert "remove match or fixed" in refused(capsys, "--target", "inprocess", "--accept", str(path))


def test_report_of_other_version_or_tool_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for text, said in (
        ("{}", "was not written by validate"),
        ("[", "was not written by validate"),
        (of_version("2"), "was not written by validate"),
        (of_version(1), "has version 1, this rocketproof reads 2; validate the target again with this version"),
        (of_version(3), "has version 3, this rocketproof reads 2; update rocketproof"),
    ):
        (tmp_path / "report.json").write_text(text)
        assert said in refused(capsys, "--again", str(tmp_path))


def of_version(version: object) -> str:
    return json.dumps({"schema": "rocketproof-validation", "version": version})


@pytest.mark.slow
def test_implementation_is_validated_and_its_report_judged_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder, copy = tmp_path / "report", tmp_path / "copy.json"
    assert run(["validate", "--target", "inprocess", "--programs", "8", "--seed", "4", "--report", str(folder), "--json", str(copy)]) == 0
    said = capsys.readouterr().out
    assert "inprocess:P494 under P494: 8 programs" in said
    assert "no finding" in said
    assert json.loads(copy.read_text())["programs"]["judged"] == 8
    reported = tmp_path / "again.run"
    assert run(["validate", "--again", str(folder), "--report", f"run:{reported}", "--since", str(folder / "report.json")]) == 0
    said = capsys.readouterr().out
    assert "8 programs" in said and "nothing has changed" in said
    assert json.loads(reported.read_text())["command"] == "validate"
    for path in (folder / "histories").iterdir():
        path.unlink()
    assert "there are no histories in it" in refused(capsys, "--again", str(folder))


def test_time_limit_stops_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "report"
    assert run(["validate", "--target", "inprocess", "--programs", "20", "--time", "0.000001", "--report", str(folder)]) == 3
    assert "stopped: --time 1e-06" in capsys.readouterr().out
    assert json.loads((folder / "report.json").read_text())["programs"]["judged"] == 0


def test_target_adapter_is_tested_and_missing_capabilities_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "tried.json"
    assert run(["validate", "--target", "inprocess", "--self-test", "--json", str(path)]) == 0
    said = capsys.readouterr().out
    assert "all that it offers works" in said
    assert "kill: programs and witnesses with a crash are left out" in said
    data = json.loads(path.read_text("utf-8"))
    assert {check["what"] for check in data["checked"]} >= {"answers", "configure", "store", "stop", "restart", "start"}
    assert (list(data["lost"]), data["exit"]) == (["kill"], 0)


def test_adapter_that_only_seems_to_work_is_finding(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = described(tmp_path, broker='stop = ["false"]', more='without = ["kill", "start", "configure"]\n')
    assert run(["validate", "--target", str(path), "--self-test"]) == 1
    said = capsys.readouterr().out
    assert "FAILS  stop" in said
    assert "failed with code 1" in said


def test_target_that_cannot_start_has_no_self_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert FREE_PORT_OF_NOBODY in refused(capsys, FREE_PORT_OF_NOBODY, "--self-test")
