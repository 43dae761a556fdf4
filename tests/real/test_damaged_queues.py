"""A record loses its entry in a queue while the broker is down: a release dispatches it again or does not, as the reference does."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.validation.handwritten import programfile
from rocketproof_properties.validation.handwritten.trial import perform

COMMANDS = ("java", "mvn")
DAMAGED = {"file": "consumequeue", "place": "entry"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("release", "left"),
    [("4.9.4", ["1", "1", "1"]), ("5.2.0", ["0", "0", "1"]), ("5.3.3", ["0", "1", "1"]), ("5.5.0", ["0", "1", "1"])],
)
def test_record_without_an_entry_is_dispatched_again_by_release(release: str, left: list[str], tmp_path: Path) -> None:
    """After another topic's record, alone, and after a kill."""
    found = []
    for number, (topics, kill) in enumerate((("BA", False), ("A", False), ("BA", True))):
        sends = [("send", {"topic": topic}) for topic in topics]
        folder = tmp_path / str(number)
        folder.mkdir()
        file = folder / "program.py"
        steps = [*sends, ("wait", 1), ("corrupt", {**DAMAGED, "kill": kill}), ("wait", 1), ("max_offset", {}), ("send", {}), ("pull", {})]
        file.write_text(f"STEPS = {steps!r}")
        (trial,) = perform(programfile.load(str(file)), Apache(release), folder)
        assert trial.findings == []
        found.append(trial.answers[len(topics) + 4].fields["offset"])
    assert found == left
