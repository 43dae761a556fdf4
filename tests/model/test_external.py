"""A search that continues in files finds the same as a search in memory: with little memory, many runs, and after any interruption."""

import errno
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from killed import killed

import routing
from rocketproof_model import ANY, Bool, EvaluationError, Int, Model, RocketproofError
from rocketproof_model.errors import LimitReached
from rocketproof_model.explicit.checkpoint import SearchCheckpoint
from rocketproof_model.explicit.exploration import Exploration
from rocketproof_model.explicit.external import ExternalSearch
from rocketproof_model.explicit.layout import layout
from rocketproof_model.explicit.ordered import StateOrder, leading_word
from rocketproof_model.explicit.runfile import DamagedRunError, RunFile
from rocketproof_model.result import DISK, INTERRUPTED, STATES, TIME, Limits
from rocketproof_model.search import Tuning, explore

MODEL = routing.model(B=2, P=1, M=2, K=2, C=1)
NARROW, WIDE = Tuning(homes=8, block=2, run_block=50), Tuning(word_bits=10, homes=8, block=2, run_block=7)
LITTLE = Limits(memory=1, disk=1 << 30)


def summary(found: Exploration) -> object:
    """Return everything that must be as in memory."""
    outcomes = [
        (o.property.id, o.verdict, o.reason, o.details, None if o.witness is None else (o.witness.moves, o.witness.states))
        for o in found.outcomes
    ]
    return (found.states, found.transitions, found.depth, found.deadlocks, found.sizes), found.coverage, outcomes


@pytest.fixture(scope="module")
def whole() -> object:
    return summary(explore(MODEL.given()))


@dataclass
class Spied:
    """Counts how often each phase began; raises this exception to end the search at a phase."""

    counts: dict[str, int]
    at: tuple[str, int] | None = None
    end: BaseException | None = None


@contextmanager
def spied(monkeypatch: pytest.MonkeyPatch, at: tuple[str, int] | None = None, end: BaseException | None = None) -> Iterator[Spied]:
    spy = Spied({}, at, end)

    def watched(name: str) -> None:
        real = getattr(ExternalSearch, name)

        def counted(self: ExternalSearch, *arguments: object) -> object:
            spy.counts[name] = spy.counts.get(name, 0) + 1
            if spy.at == (name, spy.counts[name]):
                assert spy.end is not None
                raise spy.end
            return real(self, *arguments)

        patch.setattr(ExternalSearch, name, counted)

    with monkeypatch.context() as patch:
        for name in ("_convert", "_mark", "_expand", "_spill", "_enter_candidates", "_enter", "_save"):
            watched(name)
        yield spy


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("tuning", [NARROW, WIDE], ids=["one word", "many words"])
def test_search_on_disk_finds_the_same_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tuning: Tuning, workers: int) -> None:
    with spied(monkeypatch) as spy:
        exploration = explore(MODEL.given(), workers=workers, tuning=tuning, limits=LITTLE, checkpoint=SearchCheckpoint(tmp_path / "kept"))
    assert exploration.finished and summary(exploration) == summary(explore(MODEL.given(), tuning=tuning))
    assert spy.counts["_spill"] > 3 * exploration.depth and spy.counts["_enter"] > 3 * spy.counts["_enter_candidates"], (
        "few runs: this shows nothing"
    )
    assert 0 < exploration.disk and not (tmp_path / "kept").exists()
    with pytest.raises(LimitReached, match="memory"):
        exploration.levels()


@pytest.mark.slow
@pytest.mark.parametrize("end", [KeyboardInterrupt(), OSError(errno.ENOSPC, "no space left on device")], ids=["ctrl-c", "full disk"])
@pytest.mark.parametrize("phase", ["_convert", "_mark", "_expand", "_spill", "_enter_candidates", "_enter", "_save"])
def test_search_on_disk_continues_after_any_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, end: BaseException, whole: object
) -> None:
    instance, at = MODEL.given(), {"_convert": 1, "_enter": 40, "_spill": 30}.get(phase, 5)
    began = explore(instance, limits=Limits(states=300), tuning=NARROW, checkpoint=SearchCheckpoint(tmp_path, 0.0))
    assert began.reason == STATES
    with spied(monkeypatch, (phase, at), end):
        exploration = explore(instance, tuning=NARROW, limits=LITTLE, checkpoint=SearchCheckpoint(tmp_path, 0.0))
    assert exploration.reason == (INTERRUPTED if isinstance(end, KeyboardInterrupt) else DISK)
    assert exploration.depth >= began.depth
    assert {o.reason for o in exploration.outcomes if o.verdict == "unknown"} == {exploration.reason}
    gone_on = explore(instance, tuning=NARROW, workers=2, limits=LITTLE, checkpoint=SearchCheckpoint(tmp_path))
    assert summary(gone_on) == whole


def test_a_process_that_is_killed_loses_little(tmp_path: Path, whole: object) -> None:
    program = (
        "import routing, sys, pathlib\n"
        "from rocketproof_model.explicit.checkpoint import SearchCheckpoint\n"
        "from rocketproof_model.explicit.external import ExternalSearch\n"
        "from rocketproof_model.result import Limits\nfrom rocketproof_model.search import Tuning, explore\n"
        "real = ExternalSearch._spill\n"
        "def spill(self, states):\n"
        "    real(self, states)\n"
        "    if len(self.sizes) == 8:\n        print(flush=True)\n        sys.stdin.read()\n"
        "ExternalSearch._spill = spill\n"
        "explore(routing.model(B=2, P=1, M=2, K=2, C=1).given(), tuning=Tuning(homes=8, block=2, run_block=50),\n"
        "        limits=Limits(memory=1, disk=1 << 30), checkpoint=SearchCheckpoint(pathlib.Path(sys.argv[1]), 0.0))\n"
    )
    killed(program, tmp_path)
    with (tmp_path / "runs").open("ab") as file:
        file.write(b"half a block that was being written")
    assert (tmp_path / "candidates").stat().st_size > 0
    assert summary(explore(MODEL.given(), tuning=NARROW, limits=LITTLE, checkpoint=SearchCheckpoint(tmp_path))) == whole


def test_disk_limit_ends_the_search(tmp_path: Path, whole: object) -> None:
    enough = explore(MODEL.given(), tuning=NARROW, limits=LITTLE, checkpoint=SearchCheckpoint(tmp_path))
    half = explore(MODEL.given(), tuning=NARROW, limits=Limits(memory=1, disk=enough.disk // 2), checkpoint=SearchCheckpoint(tmp_path))
    assert half.reason == DISK and 1 < half.depth < enough.depth and half.disk <= enough.disk // 2
    assert sum(path.stat().st_size for path in tmp_path.iterdir() if path.name != "search.json") <= enough.disk // 2
    assert summary(explore(MODEL.given(), tuning=NARROW, limits=LITTLE, checkpoint=SearchCheckpoint(tmp_path))) == whole


def test_file_size_limit_ends_the_search_like_a_full_disk(tmp_path: Path, whole: object) -> None:
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    explore(MODEL.given(), tuning=NARROW, limits=Limits(states=10))  # compiled, and kept
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, was[1]))
    try:
        exploration = explore(MODEL.given(), tuning=NARROW, limits=LITTLE, checkpoint=SearchCheckpoint(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
    assert exploration.reason == DISK and exploration.depth > 1
    assert summary(explore(MODEL.given(), tuning=NARROW, limits=LITTLE, checkpoint=SearchCheckpoint(tmp_path))) == whole


def test_state_and_time_limits_end_after_whole_levels(tmp_path: Path) -> None:
    some = explore(MODEL.given(), tuning=NARROW, limits=Limits(memory=1, disk=1 << 30, states=1000), checkpoint=SearchCheckpoint(tmp_path))
    assert some.reason == STATES and some.states == sum(some.sizes) > 1000
    late = explore(MODEL.given(), tuning=NARROW, limits=Limits(memory=1, disk=1 << 30, seconds=0.0), checkpoint=SearchCheckpoint(tmp_path))
    assert late.reason == TIME and late.depth == some.depth
    assert late.disk > 0, "files that an earlier search has written are its own too"


def test_incompatible_options_are_refused(tmp_path: Path) -> None:
    instance = MODEL.given()
    with pytest.raises(RocketproofError, match=r"a limit of disk without a folder for the states; give a checkpoint"):
        explore(instance, limits=LITTLE)
    explore(instance, tuning=NARROW, limits=Limits(memory=1, disk=1 << 30, states=1000), checkpoint=SearchCheckpoint(tmp_path))
    with pytest.raises(RocketproofError, match=r"holds a search on disk; say how many bytes its files may have"):
        explore(instance, checkpoint=SearchCheckpoint(tmp_path))
    kept = (tmp_path / "runs").read_bytes()
    for damage in (kept[:-1] + bytes([kept[-1] ^ 1]), kept[:4] + b"\0" + kept[5:], kept[:200]):
        (tmp_path / "runs").write_bytes(damage)
        with pytest.raises(RocketproofError, match=r"is damaged: its states are not those that were written; remove "):
            explore(instance, tuning=NARROW, limits=LITTLE, checkpoint=SearchCheckpoint(tmp_path))


def test_errors_of_a_model_come_with_their_path(tmp_path: Path) -> None:
    m = Model("overflow")
    x, y = m.var("x", Int(0, 5), init=0), m.var("y", Int(0, 200), init=0)

    @m.action()
    def up(a):  # type: ignore[no-untyped-def]
        """It goes up."""
        a.guard("late", y == 200, "y is high")
        a.set(x, x + 1)

    @m.action()
    def aside(a):  # type: ignore[no-untyped-def]
        """It goes aside."""
        a.guard("there is room", y < 200, "y is low")
        a.set(y, y + 1)

    m.always("small", x < 3, "x is small")
    said = []
    for limits in (Limits(), LITTLE):
        with pytest.raises(EvaluationError) as error:
            explore(m.given(), tuning=NARROW, limits=limits, checkpoint=SearchCheckpoint(tmp_path / "kept"))
        said.append(str(error.value))
    assert said[0] == said[1] and not (tmp_path / "kept").exists()


def test_several_initial_states(tmp_path: Path) -> None:
    m = Model("several")
    bits = m.var("bits", Bool, over=m.index("Bit", 10), init=ANY)
    number = m.var("number", Int(0, 3), init=0)

    @m.action()
    def up(a):  # type: ignore[no-untyped-def]
        """It goes up."""
        a.guard("there is room", number < 3, "it is low")
        a.set(number, number + 1)

    m.always("never all", ~(bits[0] & bits[9] & (number == 3)), "not both ends")
    found = [
        explore(m.given(), tuning=NARROW, limits=limits, checkpoint=SearchCheckpoint(tmp_path)) for limits in (Limits(), LITTLE)
    ]  # fmt: skip
    assert summary(found[0]) == summary(found[1]) and found[0].states == 4096


# -- parts of a search on disk ---------------------------------------------------------------------------------------------


def order(words: int, leading: int) -> StateOrder:
    m = Model("words")
    for k in range(words):
        m.var(f"x{k}", Int(0, (1 << 30) - 1), init=0)
        m.var(f"y{k}", Int(0, (1 << 30) - 1), init=0)
    return StateOrder(layout(m), leading)


def some(rng: random.Random, words: int, many: int) -> list[tuple[int, ...]]:
    most = [rng.choice((1, 3, 300, 1 << 40, (1 << 62) - 1)) for _ in range(words)]
    return [tuple(rng.randint(0, high) for high in most) for _ in range(many)]


def flat(states: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(states, dtype=np.int64).ravel()


def test_increasing_prefix_leads() -> None:
    rng = random.Random(3)
    rows = [(rng.randrange(1 << 40), at // 100, rng.randrange(9)) for at in range(5000)]
    assert leading_word(flat(rows), 200, 3) == 1
    assert leading_word(flat(rows), 0, 3) == 0, "nothing is new"


@pytest.mark.slow
@pytest.mark.parametrize(("words", "leading"), [(1, 0), (2, 0), (4, 0), (4, 2)])
def test_runs_are_sets_in_order(tmp_path: Path, words: int, leading: int) -> None:
    rng, kept = random.Random(words), order(words, leading)
    for turn in range(40):
        parts = [some(rng, words, rng.randrange(0, 60)) for _ in range(4)]
        known = [sorted(set(part), key=kept.key) for part in parts[:3]]
        assert (
            kept.merged([flat(part) for part in known]).tolist() == flat(sorted({s for part in known for s in part}, key=kept.key)).tolist()
        )
        file = RunFile(tmp_path / str(turn), kept, states=rng.randrange(1, 9))
        for part, wanted in zip(parts, known, strict=False):
            states = kept.sorted(flat(part), np.empty(words * len(part), dtype=np.int64))
            assert states.tolist() == flat(wanted).tolist()
            assert kept.decoded(kept.encoded(states), len(wanted)).tolist() == states.tolist()
            file.begin()
            file.append(states)
        asked = sorted({*parts[3], *rng.sample(parts[0], len(parts[0]) // 2)}, key=kept.key)
        missing = [state for state in asked if state not in {s for part in parts[:3] for s in part}]
        assert file.unknown(flat(asked), map).tolist() == flat(missing).tolist()
        again = RunFile(tmp_path / str(turn), kept)
        again.recall([run.states for run in file.runs], [run.end for run in file.runs])
        low, high = sorted(some(rng, words, 2), key=kept.key)
        for run, wanted in zip(again.runs, known, strict=True):
            found = [word for states in again.between(run, low, high) for word in states.tolist()]
            assert found == flat([s for s in wanted if kept.key(low) <= kept.key(s) < kept.key(high)]).tolist()
        again.cut(1)
        assert again.unknown(flat(known[0]), map).tolist() == []
        with pytest.raises(DamagedRunError):
            RunFile(tmp_path / str(turn), kept).recall([1, 2], [again.end, again.end + 1])
