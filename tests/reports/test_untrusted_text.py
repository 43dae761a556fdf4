"""Names from outside reach terminals and files as text, never as commands."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.text import Text

from rocketproof_properties.brokers.serve import _LinePrinter
from rocketproof_properties.commands import main
from rocketproof_properties.reports import files as store
from rocketproof_properties.reports.output import Output, Page, tell
from rocketproof_protocol.shown import json_text, one_line, printable
from rocketproof_traces.history.events import Header, header_line

NAMED = "a\x1b[31mb\x9bc\ud800"
SHOWN = "a·[31mb·c·"


def test_output_has_no_control_characters() -> None:
    file = io.StringIO()
    console = Output(80)
    console.file = file
    Page(console).line(NAMED)
    Page(console).wrapped(NAMED, indent=2)
    console.print(Text(NAMED, style="bold"), soft_wrap=True)
    console.print(NAMED)
    assert file.getvalue().split() == [SHOWN] * 4


def test_broker_reports_name_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    _LinePrinter(asyncio.Event())(f"10:00:00 broker-a SEND {NAMED}\n10:00:01 broker-a forged")
    tell(NAMED)
    said = capsys.readouterr()
    assert said.out == f"10:00:00 broker-a SEND {SHOWN} 10:00:01 broker-a forged\n"
    assert said.err == f"{SHOWN}\n"


def test_refusal_shows_input_without_control_characters(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["rocketproof", "show", "a\x1b[31mb"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "a·[31mb" in said and "\x1b" not in said


def test_files_hold_half_surrogate_pair_as_json_does(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    store.write_json(path, {"name": NAMED, "ä": 1})
    assert json.loads(path.read_bytes()) == {"name": NAMED, "ä": 1}
    assert "ä" in path.read_text("utf-8")
    line = header_line(Header(origin={}, start="", note=NAMED))
    assert json.loads(line.encode())["note"] == NAMED


@pytest.mark.parametrize(
    ("text", "same"), [("plain text", "plain text"), ("tab\tand\nline", "tab\tand\nline"), ("a\r\nb\rc", "a\nb\nc"), ("ä値", "ä値")]
)
def test_text_without_control_characters_stays(text: str, same: str) -> None:
    assert printable(text) == same


def test_one_line_text_has_one_line() -> None:
    assert one_line("a\n b\t\x00c") == "a b ·c"
    assert json.loads(json_text({"\ud800": "\udfff"})) == {"\ud800": "\udfff"}
