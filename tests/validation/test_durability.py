"""The durability table: what counts as lost, changed or duplicated, which bytes are changed, and a row that is measured again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocketproof_profiles.releases import LINES
from rocketproof_properties.brokers.stoppedstore import StoppedStore
from rocketproof_properties.programs.corruption import FLIP, LOG, ZERO
from rocketproof_properties.validation.durability import simulated
from rocketproof_properties.validation.durability.outcome import Copy, FaultOutcome
from rocketproof_properties.validation.durability.table import DurabilityRow, exit_code, markdown, merged
from rocketproof_properties.validation.durability.usedbytes import UsedByte, spread, used_bytes

PAGE = Path(__file__).parents[2] / "properties" / "docs" / "results" / "durability.md"
SENT = Copy(0, 1, b"body", "key", "T")
NUMBERS = {line.name: number for number, line in enumerate(LINES)}


@pytest.mark.parametrize(
    ("read", "lost", "changed", "duplicated"),
    [
        ([SENT], 0, 0, 0),
        ([], 1, 0, 0),
        ([replace(SENT, body=b"other", key="other")], 1, 0, 0),
        ([replace(SENT, body=b"other")], 0, 1, 0),
        ([replace(SENT, offset=2)], 0, 1, 0),
        ([SENT, replace(SENT, offset=2)], 0, 0, 1),
    ],
    ids=["kept", "absent", "another message", "another body", "another place", "twice"],
)
def test_acknowledged_message_is_lost_changed_or_duplicated(read: list[Copy], lost: int, changed: int, duplicated: int) -> None:
    outcome = FaultOutcome()
    outcome.add([SENT], read)
    assert outcome == FaultOutcome(1, 0, 1, lost, changed, duplicated)


def test_delayed_message_may_be_at_any_place() -> None:
    outcome = FaultOutcome()
    outcome.add([replace(SENT, queue=None, offset=None)], [SENT])
    assert outcome == FaultOutcome(1, 0, 1)


def test_broker_that_does_not_start_has_no_messages_in_the_counts() -> None:
    outcome = FaultOutcome()
    outcome.add([SENT], None)
    assert outcome == FaultOutcome(states=1, refused=1)


def test_used_bytes_end_at_the_last_one_that_is_not_zero(tmp_path: Path) -> None:
    (tmp_path / LOG).mkdir()
    (tmp_path / LOG / "00").write_bytes(b"\0a\0b" + bytes(9))
    (tmp_path / LOG / "note.txt").write_bytes(b"x")
    files = StoppedStore(tmp_path)
    assert used_bytes(files, LOG, "T") == [UsedByte(f"{LOG}/00", position) for position in range(4)]
    first, second, *_ = used_bytes(files, LOG, "T")
    assert not first.change(files, ZERO)
    assert second.change(files, ZERO)
    assert first.change(files, FLIP)
    assert (tmp_path / LOG / "00").read_bytes()[:4] == b"\xff\0\0b"
    assert spread(range(10), 3) == [0, 3, 6]


def test_neighbouring_lines_with_equal_numbers_share_a_row() -> None:
    rows = [DurabilityRow("kill", name, name, "any", FaultOutcome(states=states)) for name, states in (("4.0", 1), ("4.1", 1), ("4.2", 2))]
    assert [(row.releases, row.outcome) for row in merged(rows)] == [
        ("4.0 to 4.1", FaultOutcome(states=1)),
        ("4.2", FaultOutcome(states=2)),
    ]


def test_page_names_what_is_not_measured_and_the_run_is_undecided() -> None:
    real = [
        DurabilityRow("kill", "apache:1", "apache:1", "SYNC_FLUSH", None, "it does not start"),
        DurabilityRow("full disk", "apache:1", "apache:1", "SYNC_FLUSH", None, "no disk is filled"),
    ]
    page = markdown([], real, "command")
    assert "- kill: it does not start." in page
    assert exit_code(real) == 3
    assert exit_code(real[1:]) == 0


@pytest.mark.parametrize(("profile", "line"), [("P494", "4.9.4"), ("P533", "5.3")])
def test_row_of_the_page_is_measured_again(profile: str, line: str) -> None:
    outcome = simulated.full_disk(profile, "ASYNC_FLUSH")
    assert outcome.acknowledged
    assert _of_page("Full disk", "ASYNC_FLUSH", line) == list(outcome.numbers)


@pytest.mark.slow
@pytest.mark.parametrize("fault", simulated.MEASURES)
def test_every_fault_of_the_page_is_measured_again(fault: str) -> None:
    flush = "any" if fault.startswith(("byte", "promotion")) else "SYNC_FLUSH"
    title = fault[0].upper() + fault[1:]
    assert _of_page(title, flush, "4.9.4") == list(simulated.MEASURES[fault]("P494", "SYNC_FLUSH").numbers)


def _of_page(title: str, flush: str, line: str) -> list[int]:
    """Return the numbers of a release line in the table of a fault."""
    _, _, section = PAGE.read_text("utf-8").partition(f"\n## {title}\n")
    for row in section.partition("\n## ")[0].splitlines():
        releases, mode, *numbers = [cell.strip() for cell in row.strip("|").split("|")] if row.startswith("|") else ["", ""]
        first, _, last = releases.partition(" to ")
        if mode == flush and first in NUMBERS and NUMBERS[first] <= NUMBERS[line] <= NUMBERS[last or first]:
            return [int(number.replace(",", "")) for number in numbers]
    raise AssertionError(f"{title} of {line} is not on the page")
