"""Programs that change bytes of a broker's files while it is down, or start it with another clock: what changes, and how it is judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nonempty import nonempty
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers import faketime
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import TargetError
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.simulated import SimulatedConnection, SimulatedDeployment, cluster_of
from rocketproof_properties.catalogue.conditions import CORRUPTED, RESET, SET_BACK
from rocketproof_properties.commands import run
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.corruption import PLACES
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.programs.program import ProgramOptions, generate
from rocketproof_properties.programs.settings import ENDED, ClusterSettings
from rocketproof_properties.programs.vocabulary import Step, arguments, plain
from rocketproof_properties.validation.handwritten import programfile
from rocketproof_properties.validation.handwritten.trial import ProgramTrial, perform
from rocketproof_protocol.codes import SUCCESS
from rocketproof_traces.stored.record import record_at

P494 = PROFILES["P494"]


def started() -> tuple[SimulatedDeployment, SimulatedConnection]:
    deployment = SimulatedDeployment(cluster_of(ClusterSettings(), P494))
    return deployment, deployment.connect("broker-a")


def corrupt(deployment: SimulatedDeployment, **wanted: object) -> None:
    deployment.act("corrupt", **arguments(("corrupt", wanted)))


def end(deployment: SimulatedDeployment, queue: int = 0) -> str:
    answer = deployment.connect("broker-a").ask(plain("max_offset", topic="A", queue=queue))
    return (answer.ext_fields or {})["offset"]


@pytest.mark.behaviour("REC-02", "REC-04")
@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize(
    ("file", "place", "left"),
    [
        *(("commitlog", place, "1") for place in ("size", "magic", "checksum", "body")),
        ("consumequeue", "entry", "2"),
        ("checkpoint", "times", "2"),
    ],
)
def test_start_drops_damaged_record_and_dispatches_again(file: str, place: str, left: str, kill: bool) -> None:
    for how in ("flip", "zero"):
        deployment, line = started()
        for body in ("one", "two"):
            assert line.ask(plain("send", topic="A", queue=0, body=body)).code == SUCCESS
        deployment.node(0).running.store.dispatch()
        corrupt(deployment, file=file, place=place, how=how, kill=kill)
        assert end(deployment) == left


@pytest.mark.behaviour("REC-02", "REC-04")
@pytest.mark.parametrize(
    ("profile", "after_other", "alone", "killed"), [("P494", "1", "1", "1"), ("P520", "0", "0", "1"), ("P533", "0", "1", "1")]
)
def test_record_without_entry_is_dispatched_again_by_profile(profile: str, after_other: str, alone: str, killed: str) -> None:
    """From 5.3.2 on a start after a stop passes over the record that begins where the last record with an entry ends."""

    def left(*topics: str, kill: bool = False) -> str:
        deployment = SimulatedDeployment(cluster_of(ClusterSettings(), PROFILES[profile]))
        line = deployment.connect("broker-a")
        for topic in topics:
            assert line.ask(plain("send", topic=topic, queue=0)).code == SUCCESS
        deployment.node(0).running.store.dispatch()
        corrupt(deployment, file="consumequeue", place="entry", kill=kill)
        return end(deployment)

    assert (left("B", "A"), left("A"), left("B", "A", kill=True)) == (after_other, alone, killed)


@pytest.mark.behaviour("REC-02", "REC-04")
@pytest.mark.parametrize(("profile", "bounds"), [("P494", ["0", "2"]), ("P520", ["0", "0"]), ("P533", ["1", "2"])])
def test_deleted_topic_is_dispatched_again_from_where_the_queues_end(profile: str, bounds: list[str]) -> None:
    """From 5.3.2 on the first of its records is missing, and the queue begins at the second one."""
    deployment = SimulatedDeployment(cluster_of(ClusterSettings(), PROFILES[profile]))
    line = deployment.connect("broker-a")
    for topic in "BAA":
        assert line.ask(plain("send", topic=topic, queue=0)).code == SUCCESS
    deployment.node(0).running.store.dispatch()
    assert line.ask(plain("delete", topic="A")).code == SUCCESS
    deployment.act("restart", **arguments(("restart", {})))
    fields = [deployment.connect("broker-a").ask(plain(name, topic="A", queue=0)).ext_fields or {} for name in ("min_offset", "max_offset")]
    assert [each["offset"] for each in fields] == bounds


@pytest.mark.behaviour("PER-03")
@pytest.mark.parametrize(("file", "kept"), [("topics.json", ["A"]), ("subscriptionGroup.json", ["A", "B"])])
def test_damaged_table_is_read_from_backup(file: str, kept: Sequence[str]) -> None:
    deployment, line = started()
    for topic in ("A", "B"):
        line.ask(plain("topic", topic=topic))
        line.ask(plain("group", group=topic))
    corrupt(deployment, file=file, place="start", kill=True)
    broker = deployment.node(0).running
    assert [topic for topic in ("A", "B") if topic in broker.topics.table] == list(kept)
    assert [group for group in ("A", "B") if group in broker.groups.table] == [name for name in ("A", "B") if len(kept) == 1 or name == "A"]


def test_only_last_record_of_program_itself_is_damaged() -> None:
    deployment, line = started()
    deployment.is_mine = lambda topic: topic == "A"
    for topic in ("A", "B"):
        line.ask(plain("send", topic=topic, queue=0))
    corrupt(deployment)
    assert end(deployment) == "1"


def test_file_is_damaged_after_broker_got_another_name() -> None:
    deployment, line = started()
    line.ask(plain("send", topic="A", queue=0))
    line.ask(plain("configure", line="brokerName=another"))
    corrupt(deployment)
    assert end(deployment) == "0"


@pytest.fixture
def performed(tmp_path: Path) -> Callable[[Sequence[Step]], ProgramTrial]:
    def perform_steps(steps: Sequence[Step]) -> ProgramTrial:
        (tmp_path / "a.py").write_text(f"STEPS = {list(steps)!r}")
        (trial,) = perform(programfile.load(str(tmp_path / "a.py")), InProcess("P494"), tmp_path)
        return trial

    return perform_steps


TWO: tuple[Step, ...] = (("send", {"topic": "A"}), ("send", {"topic": "A"}))


@pytest.mark.slow
def test_broker_that_keeps_damaged_record_is_accused(performed: Callable[[Sequence[Step]], ProgramTrial]) -> None:
    trial = performed([*TWO, ("corrupt", {}), ("max_offset", {"topic": "A"}), ("pull", {"topic": "A"})])
    assert trial.broken == [] and CORRUPTED in trial.judged.conditions
    assert trial.judged.by == ("specification", "claims", "reference") and trial.answers[4].fields["offset"] == "1"
    lines = [json.loads(line) for line in trial.history.read_text().splitlines()]
    (answer,) = (line for line in lines if line.get("type") == "ok" and line["op"] == "max_offset")
    answer["value"]["fields"]["offset"] = "2"
    trial.history.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "max_offset.offset" in {finding.property for finding in judge_file(trial.history, "P494").findings}


@pytest.mark.slow
def test_dropped_record_had_its_own_time(performed: Callable[[Sequence[Step]], ProgramTrial]) -> None:
    """The next record is stored at its place, and later: only that one can be read back."""
    stored: list[Step] = [("send", {"topic": "A"}), ("pull", {"topic": "A"}), ("earliest", {"topic": "A"})]
    trial = performed([*stored, ("corrupt", {}), *stored])
    assert trial.broken == [] and 0 < int(trial.answers[3].fields["timestamp"]) < int(trial.answers[7].fields["timestamp"])


@pytest.mark.slow
def test_backup_may_be_as_new_as_damaged_table_and_no_older(performed: Callable[[Sequence[Step]], ProgramTrial]) -> None:
    """How often a release writes a table after a change is stated by no rule: the backup of 4.9.4 has the last change."""
    place = {"file": "topics.json", "place": "start", "how": "flip"}
    made: list[Step] = [("topic", {"topic": topic}) for topic in "ABC"]
    older = performed([*made, ("corrupt", place), ("topics", {})])
    assert older.broken == [] and [topic in older.answers[5].value["topicConfigTable"] for topic in "BC"] == [True, False]
    trial = performed([*made, ("restart", {})])
    lines = [json.loads(line) for line in trial.history.read_text().splitlines()]
    (ended,) = (line for line in lines if line.get("op") == "stop")
    ended["value"]["corrupt"] = place
    (topics,) = (line for line in lines if line.get("op") == "topics" and line["type"] == "state")

    def broken(*lost: str) -> bool:
        table = dict(topics["value"]["topics"])
        topics["value"]["topics"] = {name: entry for name, entry in table.items() if name[-1] not in lost}
        trial.history.write_text("".join(json.dumps(line) + "\n" for line in lines))
        topics["value"]["topics"] = table
        return bool(judge_file(trial.history, "P494", ("reference",)).findings)

    assert [broken(), broken("B")] == [False, True]


@pytest.mark.slow
def test_started_broker_has_other_clock_until_next_start(performed: Callable[[Sequence[Step]], ProgramTrial]) -> None:
    hour = 3_600_000
    send, pull = ("send", {"topic": "A"}), ("pull", {"topic": "A"})
    trial = performed([send, ("restart", {"clock": -hour}), send, ("restart", {}), send, pull])
    assert trial.findings == [] and trial.judged.conditions >= {RESET, SET_BACK}
    stored = [record_at(data, place) for place, data in sorted(load(trial.history).records.items())]
    first, back, last = (record.store_timestamp for record in stored if record is not None)
    assert abs(first - back - hour) < 60_000 and 0 <= last - first < 60_000


def test_release_needs_libfaketime_for_other_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faketime, "library", lambda: None)
    assert Capability.SET_CLOCK not in Apache("4.9.4").offers
    with pytest.raises(TargetError, match="libfaketime is not installed; install the Debian package libfaketime"):
        faketime.environment(1)
    with pytest.raises(TargetError, match="another clock; use served, install libfaketime for apache, or leave the clock out"):
        SimulatedDeployment(cluster_of(ClusterSettings(), P494)).set_clock("broker-a", 1)
    monkeypatch.setattr(faketime, "library", lambda: Path("/lib/faketime.so"))
    assert Capability.SET_CLOCK in Apache("4.9.4").offers
    assert {"LD_PRELOAD": "/lib/faketime.so", "FAKETIME": "-1.500"}.items() <= faketime.environment(-1500).items()


@pytest.mark.slow
def test_programs_change_files_and_clocks_where_target_can() -> None:
    everything = ProgramOptions("P494", 1500, 1, configure=True, start=True, end=True, corrupt=True, clocks=True)
    steps = [step for program in generate(everything) if program.needs == ENDED for step in program.steps]
    assert {(args["file"], args["place"]) for name, args in nonempty(steps) if name == "corrupt"} == {*PLACES}
    assert {args["clock"] > 0 for name, args in steps if name == "restart"} == {True, False}
    assert ("crash", {}) in steps
    few = generate(ProgramOptions("P494", 300, 1, configure=True, start=True, end=True))
    assert not {name for program in few for name, _ in program.steps} & {"corrupt", "restart"}


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ({"file": "commitlog", "place": "middle"}, "unknown place of commitlog 'middle'; "),
        ({"file": "store"}, "unknown file 'store'; "),
        ({"how": "shift"}, "unknown change 'shift'; "),
    ],
)
def test_unknown_place_is_one_line(wanted: dict[str, str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.py"
    path.write_text(f'STEPS = [("send", {{}}), ("corrupt", {wanted!r})]')
    assert run(["run", str(path)]) == 2
    printed = capsys.readouterr().err
    assert f"{path}:1:24: {error}" in printed.replace("\n  ", " ") and "Traceback" not in printed
