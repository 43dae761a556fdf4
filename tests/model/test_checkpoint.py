"""A search that was ended in between, however often and by whatever, finds what it would have found at once."""

import errno
import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from killed import killed

import routing
from rocketproof_model import RocketproofError
from rocketproof_model.checkpoint import Checkpoint, Record
from rocketproof_model.explicit.exploration import Exploration
from rocketproof_model.result import DISK, INTERRUPTED, MEMORY, STATES, Limits
from rocketproof_model.search import Tuning, _Search, explore

MODEL = routing.model(B=2, P=1, M=2, K=2, C=1)
LARGER = {"B": 2, "P": 2, "M": 1, "K": 1, "C": 1}
WIDE = Tuning(word_bits=10, homes=8, block=2)


def summary(found: Exploration) -> object:
    """All that must be as without an end in between."""
    outcomes = [(o.property.id, o.verdict, o.reason, o.details, o.witness and (o.witness.moves, o.witness.states)) for o in found.outcomes]
    sizes = (found.states, found.transitions, found.depth, found.deadlocks, found.sizes)
    return sizes, found.coverage, outcomes, [np.sort(level).tolist() for level in found.levels()]


@pytest.mark.parametrize("tuning", [Tuning(), WIDE], ids=["one word", "many words"])
def test_it_goes_on_from_any_limit_with_any_workers(tmp_path: Path, tuning: Tuning) -> None:
    instance, folder = MODEL.given(), tmp_path / "progress"
    whole = explore(instance, tuning=tuning)
    runs, found = 0, None
    for most in range(50, whole.states, whole.states // 5):
        found = explore(instance, workers=1 + runs % 2, limits=Limits(states=most), tuning=tuning, checkpoint=Checkpoint(folder))
        assert (found.finished, found.reason) == (False, STATES)
        assert sorted(path.name for path in folder.iterdir()) == ["search.json", "states"]
        runs += 1
    found = explore(instance, workers=2, tuning=tuning, checkpoint=Checkpoint(folder))
    assert runs > 3 and found.finished and summary(found) == summary(whole)
    assert not folder.exists(), "the search is over"


def test_little_memory_leaves_what_was_saved(tmp_path: Path) -> None:
    instance = MODEL.given()
    explore(instance, limits=Limits(states=900), checkpoint=Checkpoint(tmp_path))
    kept = (tmp_path / "search.json").read_bytes()
    full = explore(instance, limits=Limits(memory=1), checkpoint=Checkpoint(tmp_path))
    assert full.reason == MEMORY and (tmp_path / "search.json").read_bytes() == kept
    assert summary(explore(instance, checkpoint=Checkpoint(tmp_path))) == summary(explore(instance))


def test_a_process_that_is_killed_loses_little(tmp_path: Path) -> None:
    program = (
        "import routing, sys, pathlib\n"
        "from rocketproof_model.checkpoint import Checkpoint\nfrom rocketproof_model.search import explore\n"
        "class Waiting(Checkpoint):\n"
        "    def save(self, record, sync=None):\n        super().save(record, sync)\n"
        "        if len(record.sizes) == 8:\n            print(flush=True)\n            sys.stdin.read()\n"
        f"explore(routing.model(**{LARGER}).given(), checkpoint=Waiting(pathlib.Path(sys.argv[1]), 0.0))\n"
    )
    killed(program, tmp_path)
    with (tmp_path / "states").open("ab") as file:
        file.write(b"half a state that was being written")
    instance = routing.model(**LARGER).given()
    assert len(json.loads((tmp_path / "search.json").read_text())["sizes"]) == 8
    assert summary(explore(instance, checkpoint=Checkpoint(tmp_path))) == summary(explore(instance))


def test_ctrl_c_keeps_the_last_whole_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance, real = MODEL.given(), _Search._tell

    def interrupt(self: _Search) -> None:
        real(self)
        if len(self.sizes) == 6:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(_Search, "_tell", interrupt)
        found = explore(instance, checkpoint=Checkpoint(tmp_path))
    assert found.reason == INTERRUPTED and len(json.loads((tmp_path / "search.json").read_text())["sizes"]) == 6
    assert summary(explore(instance, checkpoint=Checkpoint(tmp_path))) == summary(explore(instance))


def test_a_full_disk_ends_the_search_and_what_was_saved_stays(tmp_path: Path) -> None:
    class Full(Checkpoint):
        def append(self, parts: Sequence[np.ndarray]) -> None:
            if len(self.sums) == 7:
                assert self.file is not None
                self.file.append(np.arange(3))
                raise OSError(errno.ENOSPC, "no space left on device")
            super().append(parts)

    instance = MODEL.given()
    found = explore(instance, checkpoint=Full(tmp_path, 0.0))
    assert (found.finished, found.reason) == (False, DISK)
    assert {o.reason for o in found.outcomes if o.verdict == "unknown"} == {DISK}
    assert summary(explore(instance, checkpoint=Checkpoint(tmp_path))) == summary(explore(instance))


@pytest.mark.parametrize("end", [KeyboardInterrupt(), OSError(errno.ENOSPC, "no space left on device")], ids=["ctrl-c", "full disk"])
def test_a_level_that_was_written_in_part_is_written_again(tmp_path: Path, end: BaseException) -> None:
    """The first attempt fails half way, the one at the search's end does not."""

    class Failing(Checkpoint):
        failed = False

        def append(self, parts: Sequence[np.ndarray]) -> None:
            if len(self.sums) == 7 and not self.failed:
                self.failed = True
                assert self.file is not None
                self.file.append(np.arange(3))
                raise end
            super().append(parts)

    instance = MODEL.given()
    found = explore(instance, checkpoint=Failing(tmp_path, 0.0))
    assert found.reason == (INTERRUPTED if isinstance(end, KeyboardInterrupt) else DISK)
    assert len(json.loads((tmp_path / "search.json").read_text())["sizes"]) == 8
    assert summary(explore(instance, checkpoint=Checkpoint(tmp_path))) == summary(explore(instance))


def test_saving_waits_for_its_time(tmp_path: Path) -> None:
    saved: list[int] = []

    class Noted(Checkpoint):
        def save(self, record: Record, sync: Callable[[], None] | None = None) -> None:
            saved.append(len(record.sizes))
            super().save(record, sync)

    whole = explore(MODEL.given(), checkpoint=Noted(tmp_path, 0.0))
    assert saved == list(range(1, whole.depth + 1))
    saved.clear()
    explore(MODEL.given(), checkpoint=Noted(tmp_path, 1e9))
    assert saved == []


@pytest.mark.parametrize("cost", [0.1, 2.0, 5.0])
def test_saving_takes_a_fiftieth_of_the_time(tmp_path: Path, cost: float) -> None:
    """By a clock that goes on by what each piece of work takes: a level a second, and saving."""
    now = 0.0

    def work(seconds: float) -> None:
        nonlocal now
        now += seconds

    checkpoint, saved = Checkpoint(tmp_path, 30.0, lambda: now), 0
    while saved < 10:
        work(1.0)
        if checkpoint.due:
            checkpoint.save(Record("", 1, [], [], {}, []), lambda: work(cost))
            saved += 1
    assert 9 * cost / now <= 0.02 and now <= 10 * (max(30.0, 50 * cost) + cost + 1)


def test_what_is_not_this_searchs_is_refused(tmp_path: Path) -> None:
    instance, stopped = MODEL.given(), Limits(states=500)
    explore(instance, limits=stopped, checkpoint=Checkpoint(tmp_path))
    other = routing.model(B=2, P=1, M=2, K=1, C=1).given()
    for asked, properties in ((other, None), (instance, []), (instance, MODEL.properties[:1])):
        with pytest.raises(RocketproofError, match=r"holds the progress of a search for something else; give another folder"):
            explore(asked, properties, checkpoint=Checkpoint(tmp_path))
    states = tmp_path / "states"
    kept = states.read_bytes()
    for damage in (kept[:400] + bytes([kept[400] ^ 1]) + kept[401:], kept[:64]):
        states.write_bytes(damage)
        with pytest.raises(RocketproofError, match=r"is damaged: its states are not those that were written; remove it"):
            explore(instance, checkpoint=Checkpoint(tmp_path))
    for text in ("{", "[]", '{"version": 1}', json.dumps({"version": 1, "question": "", "sizes": 3})):
        (tmp_path / "search.json").write_text(text)
        with pytest.raises(RocketproofError, match=r"give another folder or remove it"):
            explore(instance, checkpoint=Checkpoint(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(RocketproofError, match=r"cannot keep a search's progress"):
        explore(instance, checkpoint=Checkpoint(tmp_path / "file"))
