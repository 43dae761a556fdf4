"""An interrupted search finds the same as an uninterrupted search, for any number and cause of interruptions."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from killed import killed

import routing
from rocketproof_model import RocketproofError
from rocketproof_model.explicit.checkpoint import LevelRecord, SearchCheckpoint
from rocketproof_model.explicit.exploration import Exploration
from rocketproof_model.result import DISK, INTERRUPTED, MEMORY, STATES, Limits
from rocketproof_model.search import Tuning, _Search, explore

MODEL = routing.model(B=2, P=1, M=2, K=2, C=1)
LARGER = {"B": 2, "P": 2, "M": 1, "K": 1, "C": 1}
WIDE = Tuning(word_bits=10, homes=8, block=2)


def summary(found: Exploration) -> object:
    """Return everything that must equal an uninterrupted search."""
    return outline(found), [np.sort(level).tolist() for level in found.levels()]


def outline(found: Exploration) -> object:
    """Return what must equal an uninterrupted search also of a search on disk, which has no states in memory."""
    outcomes = [(o.property.id, o.verdict, o.reason, o.details, o.witness and (o.witness.moves, o.witness.states)) for o in found.outcomes]
    return (found.states, found.transitions, found.depth, found.deadlocks, found.sizes), found.coverage, outcomes


@pytest.mark.parametrize("tuning", [Tuning(), WIDE], ids=["one word", "many words"])
def test_search_continues_from_any_limit_with_any_workers(tmp_path: Path, tuning: Tuning) -> None:
    instance, folder = MODEL.given(), tmp_path / "progress"
    whole = explore(instance, tuning=tuning)
    runs, found = 0, None
    for most in range(50, whole.states, whole.states // 5):
        found = explore(instance, workers=1 + runs % 2, limits=Limits(states=most), tuning=tuning, checkpoint=SearchCheckpoint(folder))
        assert (found.finished, found.reason) == (False, STATES)
        assert sorted(path.name for path in folder.iterdir()) == ["search.json", "states"]
        runs += 1
    found = explore(instance, workers=2, tuning=tuning, checkpoint=SearchCheckpoint(folder))
    assert runs > 3 and found.finished and summary(found) == summary(whole)
    assert not folder.exists(), "the search is over"


def test_memory_limit_keeps_the_checkpoint(tmp_path: Path) -> None:
    instance = MODEL.given()
    explore(instance, limits=Limits(states=900), checkpoint=SearchCheckpoint(tmp_path))
    kept = (tmp_path / "search.json").read_bytes()
    full = explore(instance, limits=Limits(memory=1), checkpoint=SearchCheckpoint(tmp_path))
    assert full.reason == MEMORY and (tmp_path / "search.json").read_bytes() == kept
    assert summary(explore(instance, checkpoint=SearchCheckpoint(tmp_path))) == summary(explore(instance))


def test_killed_process_loses_little(tmp_path: Path) -> None:
    program = (
        "import routing, sys, pathlib\n"
        "from rocketproof_model.explicit.checkpoint import SearchCheckpoint\nfrom rocketproof_model.search import explore\n"
        "class Waiting(SearchCheckpoint):\n"
        "    def save(self, record, sync=None):\n        super().save(record, sync)\n"
        "        if len(record.sizes) == 8:\n            print(flush=True)\n            sys.stdin.read()\n"
        f"explore(routing.model(**{LARGER}).given(), checkpoint=Waiting(pathlib.Path(sys.argv[1]), 0.0))\n"
    )
    killed(program, tmp_path)
    with (tmp_path / "states").open("ab") as file:
        file.write(b"half a state that was being written")
    instance = routing.model(**LARGER).given()
    assert len(json.loads((tmp_path / "search.json").read_text())["record"]["sizes"]) == 8
    assert summary(explore(instance, checkpoint=SearchCheckpoint(tmp_path))) == summary(explore(instance))


def test_ctrl_c_keeps_the_last_whole_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance, real = MODEL.given(), _Search._report_progress

    def interrupt(self: _Search) -> None:
        real(self)
        if len(self.sizes) == 6:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(_Search, "_report_progress", interrupt)
        exploration = explore(instance, checkpoint=SearchCheckpoint(tmp_path))
    assert exploration.reason == INTERRUPTED and len(json.loads((tmp_path / "search.json").read_text())["record"]["sizes"]) == 6
    assert summary(explore(instance, checkpoint=SearchCheckpoint(tmp_path))) == summary(explore(instance))


def test_full_disk_ends_the_search_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    class Full(SearchCheckpoint):
        def append(self, parts: Sequence[np.ndarray]) -> None:
            if len(self.sums) == 7:
                assert self.file is not None
                self.file.append(np.arange(3))
                raise OSError(errno.ENOSPC, "no space left on device")
            super().append(parts)

    instance = MODEL.given()
    exploration = explore(instance, checkpoint=Full(tmp_path, 0.0))
    assert (exploration.finished, exploration.reason) == (False, DISK)
    assert {o.reason for o in exploration.outcomes if o.verdict == "unknown"} == {DISK}
    assert summary(explore(instance, checkpoint=SearchCheckpoint(tmp_path))) == summary(explore(instance))


@pytest.mark.parametrize("end", [KeyboardInterrupt(), OSError(errno.ENOSPC, "no space left on device")], ids=["ctrl-c", "full disk"])
def test_partly_written_level_is_written_again(tmp_path: Path, end: BaseException) -> None:
    """The first attempt fails half way, the attempt at the search's end succeeds."""

    class Failing(SearchCheckpoint):
        failed = False

        def append(self, parts: Sequence[np.ndarray]) -> None:
            if len(self.sums) == 7 and not self.failed:
                self.failed = True
                assert self.file is not None
                self.file.append(np.arange(3))
                raise end
            super().append(parts)

    instance = MODEL.given()
    exploration = explore(instance, checkpoint=Failing(tmp_path, 0.0))
    assert exploration.reason == (INTERRUPTED if isinstance(end, KeyboardInterrupt) else DISK)
    assert len(json.loads((tmp_path / "search.json").read_text())["record"]["sizes"]) == 8
    assert summary(explore(instance, checkpoint=SearchCheckpoint(tmp_path))) == summary(explore(instance))


def test_saving_waits_for_its_interval(tmp_path: Path) -> None:
    saved: list[int] = []

    class Noted(SearchCheckpoint):
        def save(self, record: LevelRecord, sync: Callable[[], None] | None = None) -> None:
            saved.append(len(record.sizes))
            super().save(record, sync)

    whole = explore(MODEL.given(), checkpoint=Noted(tmp_path, 0.0))
    assert saved == list(range(1, whole.depth + 1))
    saved.clear()
    explore(MODEL.given(), checkpoint=Noted(tmp_path, 1e9))
    assert saved == []


@pytest.mark.parametrize("cost", [0.1, 2.0, 5.0])
def test_saving_takes_a_fiftieth_of_the_time(tmp_path: Path, cost: float) -> None:
    """On a clock that each piece of work advances: a level takes a second, and so does saving."""
    now = 0.0

    def work(seconds: float) -> None:
        nonlocal now
        now += seconds

    checkpoint, saved = SearchCheckpoint(tmp_path, 30.0, lambda: now), 0
    while saved < 10:
        work(1.0)
        if checkpoint.due:
            checkpoint.save(LevelRecord("", 1, [], [], {}, []), lambda: work(cost))
            saved += 1
    assert 9 * cost / now <= 0.02 and now <= 10 * (max(30.0, 50 * cost) + cost + 1)


def test_checkpoint_of_another_search_is_refused(tmp_path: Path) -> None:
    instance, stopped = MODEL.given(), Limits(states=500)
    explore(instance, limits=stopped, checkpoint=SearchCheckpoint(tmp_path))
    other = routing.model(B=2, P=1, M=2, K=1, C=1).given()
    for asked, properties in ((other, None), (instance, []), (instance, MODEL.properties[:1])):
        with pytest.raises(RocketproofError, match=r"holds the progress of a search for something else; give another folder"):
            explore(asked, properties, checkpoint=SearchCheckpoint(tmp_path))
    states = tmp_path / "states"
    kept = states.read_bytes()
    for damage in (kept[:400] + bytes([kept[400] ^ 1]) + kept[401:], kept[:64]):
        states.write_bytes(damage)
        with pytest.raises(RocketproofError, match=r"is damaged: its states are not those that were written; remove "):
            explore(instance, checkpoint=SearchCheckpoint(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(RocketproofError, match=r"cannot keep a search's progress"):
        explore(instance, checkpoint=SearchCheckpoint(tmp_path / "file"))


def test_second_search_in_a_folder_is_refused(tmp_path: Path) -> None:
    instance, question = MODEL.given(), SearchCheckpoint(tmp_path)
    explore(instance, limits=Limits(states=500), checkpoint=question)
    program = "import pathlib, sys\nfrom rocketproof_model.explicit.checkpoint import SearchCheckpoint\n"
    program += "SearchCheckpoint(pathlib.Path(sys.argv[1]))._acquire()\nprint(flush=True)\nsys.stdin.read()\n"
    with subprocess.Popen([sys.executable, "-c", program, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(RocketproofError, match=rf"{tmp_path} is in use by another search, process {other.pid}; wait until it ends"):
            explore(instance, checkpoint=SearchCheckpoint(tmp_path))
        other.kill()
    assert (tmp_path / "lock").read_text() == str(other.pid), "the files of a killed search"
    assert summary(explore(instance, checkpoint=SearchCheckpoint(tmp_path))) == summary(explore(instance))
    assert not tmp_path.exists()


def test_refused_searches_leave_no_lock(tmp_path: Path) -> None:
    explore(MODEL.given(), limits=Limits(states=500), checkpoint=SearchCheckpoint(tmp_path))
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    for _ in range(2):
        with pytest.raises(RocketproofError, match="holds the progress of a search for something else"):
            explore(MODEL.given(), [], checkpoint=SearchCheckpoint(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["search.json", "states"]
    assert sys.platform != "linux" or len(os.listdir("/proc/self/fd")) == before


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = ATOMS | st.lists(ATOMS | st.lists(ATOMS, max_size=2), max_size=3) | st.dictionaries(st.text(max_size=5), ATOMS, max_size=3)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of an interrupted search, in memory and on disk."""
    folder, files = tmp_path_factory.mktemp("kept"), {}
    explore(MODEL.given(), limits=Limits(states=500), checkpoint=SearchCheckpoint(folder))
    files |= {path.name: path.read_bytes() for path in folder.iterdir()}
    explore(MODEL.given(), limits=Limits(memory=1, states=900, disk=1 << 26), checkpoint=SearchCheckpoint(folder))
    files |= {f"disk/{path.name}": path.read_bytes() for path in folder.iterdir()}
    assert {"search.json", "states", "disk/search.json", "disk/runs"} <= set(files)
    return files


@pytest.fixture(scope="module")
def undisturbed() -> object:
    return outline(explore(MODEL.given()))


def says_the_same(damaged: bytes, whole: bytes) -> bool:
    """Return whether both are the same JSON: a space may have become a tab."""
    try:
        return json.dumps(json.loads(damaged)) == json.dumps(json.loads(whole))
    except ValueError:
        return False


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_damage_names_the_file_and_the_remedy(
    kept: dict[str, bytes], undisturbed: object, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    disk = data.draw(st.booleans())
    files = {name.removeprefix("disk/"): content for name, content in kept.items() if name.startswith("disk/") == disk}
    name = data.draw(st.sampled_from(sorted(set(files) - {"candidates"})))
    content = bytearray(files[name])
    damage = data.draw(st.sampled_from(["cut", "changed", "value"] if name == "search.json" else ["cut", "changed"]))
    used = len(content) if name == "search.json" or disk else 8 * sum(json.loads(files["search.json"])["record"]["sizes"])
    if damage == "cut":
        del content[data.draw(st.integers(0, used - 1)) :]
    elif damage == "changed":
        content[data.draw(st.integers(0, used - 1))] ^= data.draw(st.integers(1, 255))
    else:
        record = json.loads(content)
        where = data.draw(st.sampled_from([record, record["record"]]))
        key = data.draw(st.sampled_from(sorted(where)))
        where[key] = data.draw(VALUES)
        content = bytearray(json.dumps(record).encode())
    for each, whole in files.items():
        (folder / each).write_bytes(content if each == name else whole)
    limits = Limits(disk=1 << 26 if disk else None)
    try:
        found: object = outline(explore(MODEL.given(), limits=limits, checkpoint=SearchCheckpoint(folder)))
    except RocketproofError as error:
        found = str(error)
    named = isinstance(found, str) and re.search(rf"{folder / name} is damaged.*; .*remove {folder} to search from the start", found)
    harmless = name == "runs" or (name == "search.json" and says_the_same(bytes(content), files[name]))
    assert named or (harmless and found == undisturbed), "damage is accepted only in a block that is never read, and between two words"
