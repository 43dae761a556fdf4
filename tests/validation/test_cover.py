"""The cover takes every transition that requests can cause, and its report counts only what recorded responses show."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from spoilt import Spoilt

from nonempty import nonempty
from rocketproof_impl.remoting.command import RESPONSE, Command
from rocketproof_impl.store import service
from rocketproof_impl.store.bytime import StoredAt, offset_at
from rocketproof_impl.store.consumequeue import ConsumeQueue
from rocketproof_model import Instance
from rocketproof_model.interpreter import State, readable
from rocketproof_model.search import explore as search
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.cover import smallmodels
from rocketproof_properties.programs.cover.paths import cover
from rocketproof_properties.programs.cover.scopes import DRIVEN
from rocketproof_properties.programs.cover.smallmodels import _sized
from rocketproof_properties.programs.cover.statespace import Choice, OutsideModel
from rocketproof_properties.programs.coverplan import CoverPlan, plan, state_graphs
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.programs.sizes import added_length, item_length
from rocketproof_properties.validation import results, show
from rocketproof_properties.validation.again import again
from rocketproof_properties.validation.cover import Uncovered, share
from rocketproof_properties.validation.report import ValidationReport
from rocketproof_properties.validation.validate import ValidationRequest, validate
from rocketproof_protocol import codes
from rocketproof_protocol.flags import ROLLBACK
from rocketproof_protocol.topics import DLQ_PREFIX
from rocketproof_spec.bounds import NAME_LIMIT, TEXT_LIMIT
from rocketproof_spec.times import Times

PROFILE = "P494"
SLOW = ("deletions", "settings", "backs")
SEARCHED = (
    "creation", "settings", "deletions", "restart", "backs", "delays", "transactions", "meeting", "sizes", "times", "registrations", "told",
)  # fmt: skip
"""The scopes that the exhaustive search explores quickly."""
COUNTED = {"names blank": 4 * 4 * 4 + 3 * 3 * 3, "names ordinary": (1 + 3 * 3 * 3) * (4 * 4 * 4 + 3 * 3 * 3), "offsets group": 81 * 19 - 54}
"""States times choices. In 54 states of offsets the group is in the table, so that deleting it does more than forget its offset."""


def sequential(model: OutsideModel, undriven: set[tuple[State, Choice]]) -> set[tuple[State, Choice]]:
    """Return the transitions of the exhaustive search that begin while the broker is idle, from states of such transitions only.

    Transitions without a step are left out.
    """
    actions = [action for action in model.instance.model.actions if action.name not in model.left_out]
    graph = search(Instance(model.instance.model.with_actions(actions), model.instance.constants), []).graph()
    names = [action.name for action in actions]
    outside = np.isin(graph.actions(), [names.index(name) for name in model.steps])
    found, met, queue = set[tuple[State, Choice]](), {0}, deque([0])
    while queue:
        number = queue.popleft()
        edges = range(int(graph.first[number]), int(graph.first[number + 1]))
        inside = [edge for edge in edges if not outside[edge]]
        if not inside and not is_idle(model, graph.state(number)):
            continue  # a bound of the scope ends the request
        for edge in inside or edges:
            if not inside:
                move = graph.move(edge)
                choice = Choice(move.action, tuple(move.args), "")
                if not model.mine(choice.action, model.values(choice)):
                    continue
                taken = model.normal(graph.state(number)), choice
                if taken in undriven:
                    continue
                found.add(taken)
            target = int(graph.target[edge])
            if target not in met:
                met.add(target)
                queue.append(target)
    return found


def is_idle(model: OutsideModel, state: State) -> bool:
    values = readable(model.instance, state)
    return values.get("job.phase[0]", "idle") == "idle" and not values.get("job.arrived", False)


@pytest.mark.parametrize("scope", [pytest.param(scope, marks=pytest.mark.slow) if scope in SLOW else scope for scope in SEARCHED])
def test_graph_has_all_transitions_of_exhaustive_search(scope: str) -> None:
    for graph in nonempty(state_graphs(scope, PROFILE)):
        mine = {(graph.states[edge.source], edge.choice) for edge in graph.edges if not edge.choice.guard}
        undriven = {(graph.states[number], choice) for number, choice, _ in graph.undriven}
        assert sequential(graph.model, undriven) == mine, graph.name


@pytest.mark.parametrize(("name", "number"), COUNTED.items())
def test_graph_has_product_of_states_and_choices(name: str, number: int) -> None:
    (graph,) = (graph for graph in state_graphs(name.partition(" ")[0], PROFILE) if graph.name == name)
    assert len(graph.edges) == number


@pytest.fixture(scope="module")
def whole() -> CoverPlan:
    return plan(PROFILE, 1, configure=True, start=True, end=True)


def test_programs_take_every_transition_along_paths(whole: CoverPlan) -> None:
    """Each path is connected, begins in the initial state, and has at most the part's length."""
    taken: list[set[int]] = [set() for _ in whole.graphs]
    for program in whole.programs:
        at, path, length = 0, -1, 0
        for edge in whole.taken[program.number]:
            graph = whole.graphs[edge.graph]
            at, length = (0, 0) if edge.path != path else (at, length)
            assert graph.edges[edge.edge].source == at and length < graph.model.longest
            at, path, length = graph.edges[edge.edge].target, edge.path, length + 1
            taken[edge.graph].add(edge.edge)
    assert [len(edges) for edges in taken] == [len(graph.edges) for graph in whole.graphs]
    assert not whole.lacking


def test_each_path_has_own_names(whole: CoverPlan) -> None:
    shared = 0
    for program in whole.programs:
        owners: dict[str, int] = {}
        edges = whole.taken[program.number]
        begins = {edge.path: edge.step - len(whole.graphs[edge.graph].model.prelude) for edge in reversed(edges)}
        for number, (_, args) in enumerate(program.steps):
            path = max(path for path, begin in begins.items() if begin <= number)
            for name in (str(args[key]) for key in ("topic", "group") if key in args):
                if name[0] in "ABg" and len(name) < 4:
                    assert owners.setdefault(name, path) == path, program.source
        shared += len(owners) > 1
    assert shared > 10, "many programs have several paths"


def test_cover_is_determined_by_seed() -> None:
    first, same, other = (plan(PROFILE, seed, configure=True, start=True, end=True, only=["deletions", "offsets"]) for seed in (1, 1, 2))
    assert first.programs == same.programs != other.programs
    assert [program.number for program in first.programs] == [*range(1, len(first.programs) + 1)]


def test_programs_for_missing_settings_are_left_out() -> None:
    without = plan(PROFILE, 1, configure=False, start=False, end=False, only=["settings", "restart"])
    assert {program.needs for program in without.programs} == {""}
    assert {without.graphs[number].model.needs for number in without.lacking} >= {"a process that ends", "no write permission"}


@pytest.mark.parametrize("profile", ["P494", "P533"])
def test_batches_of_sizes_end_at_limit_and_exceed_it_by_one(profile: str) -> None:
    """Their stored properties include what the broker adds. One byte more makes the record unreadable, in a broker of its own (BAT-03)."""
    steps = [step for graph in state_graphs("sizes", profile) for edge in graph.edges for step in edge.steps]
    texts = [f"k\1{args['items'][1][1]['k']}".encode() for _, args in steps if "items" in args]
    added = added_length("", PROFILES[profile])
    assert {item_length(text, added) - TEXT_LIMIT for text in nonempty(texts)} == {0, 1}


def test_long_graph_is_covered_within_length() -> None:
    (graph,) = (graph for graph in state_graphs("deletions", PROFILE) if graph.model.part == "ordinary")
    paths = list(cover(graph, random.Random(1), 4))
    assert all(len(path) <= 4 for path in paths) and {edge for path in paths for edge in path} == set(range(len(graph.edges)))


@pytest.mark.parametrize("profile", ["P40", "P533"])
def test_other_profiles_have_a_cover(profile: str) -> None:
    for scope in ("deletions", "backs", "delays", "transactions", "sizes", "registrations"):
        assert all(graph.edges for graph in state_graphs(scope, profile))


def test_scopes_of_requests_are_driven() -> None:
    asked = {
        "creation",
        "names",
        "settings",
        "deletions",
        "backs",
        "delays",
        "transactions",
        "meeting",
        "sizes",
        "offsets",
        "times",
        "timers",
    }
    assert asked | {"registrations", "told", "restart"} == {*DRIVEN}


# On the implementation


class Plain(InProcess):
    """The implementation without the capabilities that need more than one deployment."""

    offers = frozenset({Capability.CONFIGURE})


class PlainSpoilt(Spoilt):
    """The same, with modified requests."""

    offers = Plain.offers


def covered(folder: Path, target: Any, *scopes: str) -> ValidationReport:
    return validate(ValidationRequest(target, folder, seed=1, shrink=0, cover=scopes))


def test_implementation_shows_all_transitions_of_deletions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = covered(tmp_path / "report", Plain(PROFILE), "deletions")
    assert report.coverage is not None
    _, reachable, shown = report.coverage.total
    assert (shown, report.exit_code) == (reachable, 0) and reachable > 200
    (row,) = (row for row in report.coverage.rows if row.action == "delete_topic" and row.guards)
    assert row.guards == {"proper name": (1, 1)}
    show.render(report, tmp_path / "report")
    assert "100 %" in capsys.readouterr().out
    judged_again = again(tmp_path / "report", None, [])
    assert judged_again.coverage is not None and judged_again.coverage.data() == report.coverage.data()


@pytest.fixture
def few_times(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A smaller scope of searches by time."""
    monkeypatch.setattr(smallmodels, "Times", partial(Times, records=2, moments=2))
    state_graphs.cache_clear()
    yield
    state_graphs.cache_clear()


@pytest.mark.usefixtures("few_times")
@pytest.mark.parametrize("profile", ["P494", pytest.param("P533", marks=pytest.mark.slow)])
def test_implementation_shows_all_searches_by_time(profile: str, tmp_path: Path) -> None:
    report = covered(tmp_path / "report", Plain(profile), "times")
    assert report.coverage is not None
    _, reachable, shown = report.coverage.total
    assert (shown, report.exit_code) == (reachable, 0) and reachable > 50


@pytest.mark.usefixtures("few_times")
def test_search_by_time_with_a_wrong_comparison_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The target's lower bound is the first message after the time, not at it. The judge has its own search."""

    def wrong(queue: ConsumeQueue, stored_at: StoredAt, time: int, *, bounds: str, upper: bool) -> int:
        return offset_at(queue, stored_at, time + (not upper), bounds=bounds, upper=upper)

    monkeypatch.setattr(service, "offset_at", wrong)
    report = covered(tmp_path / "report", Plain("P533"), "times")
    assert report.coverage is not None and report.coverage.missed and report.exit_code == 1
    assert {finding.verdict.property for finding in report.findings} >= {"search.offset"}


def test_fault_in_one_rare_transition_is_found(tmp_path: Path) -> None:
    """Only one of eight first messages creates no topic: that with rollback bits and a negative queue id."""
    known: set[str] = set()

    def spoil(request: Command) -> Command | None:
        fields = request.ext_fields or {}
        if request.code == codes.DELETE_TOPIC_IN_BROKER:
            known.discard(fields["topic"])
        if request.code != codes.SEND_MESSAGE_V2 or fields["b"] in known:
            return None
        if (fields["e"], fields["f"]) == ("-1", str(ROLLBACK)):
            stored = {"msgId": "7F00000100002A9F0000000000000000", "queueId": "0", "queueOffset": "0"}
            return Command(codes.SUCCESS, stored, flag=RESPONSE, opaque=request.opaque)
        known.add(fields["b"])
        return None

    report = covered(tmp_path / "report", PlainSpoilt(spoil), "deletions")
    assert report.findings and report.exit_code == 1
    assert report.coverage is not None and 0 < report.coverage.missed


def test_rejecting_target_covers_nothing_and_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    performed = (codes.GET_BROKER_CONFIG, codes.GET_ALL_TOPIC_CONFIG, codes.GET_MAX_OFFSET)

    def spoil(request: Command) -> Command | None:
        if request.code in performed:
            return None
        return Command(codes.SERVICE_NOT_AVAILABLE, {}, flag=RESPONSE, opaque=request.opaque)

    report = covered(tmp_path / "report", PlainSpoilt(spoil), "deletions")
    assert report.coverage is not None and report.coverage.total[1] > 200 and report.coverage.total[2] == 0
    assert report.exit_code != 0 and report.coverage.undecided.startswith("0 of")
    assert {reason for row in report.coverage.rows for reason in row.rest if isinstance(reason, Uncovered)} >= {Uncovered.OTHERWISE}
    show.render(report, tmp_path / "report")
    output = capsys.readouterr().out
    assert "100 %" not in output and "stated SUCCESS, answered SERVICE_NOT_AVAILABLE" in output
    schema = json.loads((Path(__file__).parents[2] / "properties/docs/schemas/validation.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(json.loads(json.dumps(report.data())))
    first = report.data()["coverage"]["otherwise"][0]
    assert first["times"] and (first["stated"], first["answered"]) == ("SUCCESS", "SERVICE_NOT_AVAILABLE")
    assert (tmp_path / "report" / "histories" / first["history"]).exists()


def test_group_is_unlisted_at_first_also_where_a_deletion_lists_it_again() -> None:
    """5.5.0 looks a group up that it has deleted (DLQ-02)."""
    [model] = [each for each in DRIVEN["offsets"]("P550") if each.part == "group"]
    [listed] = [variable for variable in model.instance.model.variables if variable.name == "group.listed"]
    assert model.start is not None and {model.start[listed.slot(at)] for at in listed.elements()} == {0}


@pytest.mark.parametrize(("profile", "length"), [("P533", NAME_LIMIT - len(DLQ_PREFIX)), ("P540", 120)])
def test_longest_group_that_fits_is_within_the_release_s_limit(profile: str, length: int) -> None:
    step = _sized(PROFILES[profile], kind="send-back", topic="fits", text="fits", body="fits", longer=False)
    assert len(step[1]["group"]) == length


def test_programs_of_a_busy_target_are_performed_again(tmp_path: Path) -> None:
    sends = iter(range(100_000))

    def spoil(request: Command) -> Command | None:
        if request.code not in (codes.SEND_MESSAGE, codes.SEND_MESSAGE_V2) or next(sends) != 3:
            return None
        remark = "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 206ms, size of queue: 1"
        return Command(codes.SYSTEM_BUSY, {}, remark=remark, flag=RESPONSE, opaque=request.opaque)

    report = covered(tmp_path / "report", PlainSpoilt(spoil), "deletions")
    assert report.coverage is not None and next(sends) > 3
    assert (report.coverage.missed, report.exit_code) == (0, 0)
    numbers = [judged.program for judged in report.judged]
    assert len(numbers) == len(set(numbers)) + 1


def test_share_is_100_percent_only_of_a_domain_that_is_covered() -> None:
    assert [share(*numbers) for numbers in ((0, 0), (0, 3), (999, 1000), (3, 3))] == ["none", "0 %", "99 %", "100 %"]


def test_reports_name_each_scope(tmp_path: Path) -> None:
    report = covered(tmp_path / "report", Plain(PROFILE), "deletions", "told")
    run = results.run(report.data(), tmp_path)
    rows = {result.id: result for result in run.results if result.id.startswith("cover.")}
    assert {"cover.deletions", "cover.told"} <= rows.keys()
    assert rows["cover.deletions"].outcome == "ok" and "delete_topic" in rows["cover.deletions"].details
