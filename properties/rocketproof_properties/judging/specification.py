"""Judge a program by the specification: the checker searches an order of its steps that explains the responses.

The guards of the actions state rules. An explanation shows that the rules of its actions hold, and the guard that rejects the first
unexplained event shows which rule is contradicted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from rocketproof_model import Action
from rocketproof_profiles import PROFILES
from rocketproof_protocol.fields import ORDER_TOPIC_CONFIG
from rocketproof_protocol.numbers import java_int, whole_number
from rocketproof_protocol.topics import HALF_TOPIC
from rocketproof_traces.checker.histories import UnexplainedEvent, judge_exchanges
from rocketproof_traces.checker.placement_checker import SHARED_TOPICS
from rocketproof_traces.checker.shape import MachineShape, model_of
from rocketproof_traces.checker.steps import SearchBound
from rocketproof_traces.history.exchange import Exchange

from ..brokers.runs.parsed import ParsedHistory
from ..catalogue.claim import LabelledDifference
from ..programs.names import ProgramNames
from ..programs.parts import NAME_SERVER
from ..programs.settings import ALONE, settings_of
from .exchanges import ProgramExchanges
from .shared import judge_topics, touched
from .verdicts import JudgedProgram, JudgeResult, ProgramFinding

EXPANDED: Final = SearchBound(100_000)
"""Default limit of the specification's search: states expanded in each part of a program before the part stays undecided."""
UNSPECIFIED: Final = frozenset({"clusterTopicEnable", "brokerTopicEnable", "defaultTopicQueueNums", "startAcceptSendRequestTimeStamp"})
"""Settings that the specification does not describe: a time before which nothing is served, and numbers and permissions of the broker's own
topics. It does not model full files (ALONE) either."""
_LIMIT: Final = 4_194_304
"""The default limit, which `rocketproof_traces.history.covered` considers."""
_BESIDE_BODY: Final = 40_000
"""More bytes than a record has in addition to its body."""
SHARED: Final = "topics that programs share"
"""The source of a verdict about all programs together."""
_NAMES: Final = ("blank name", "illegal characters", "name too long", "forbidden topic")
_REFUSING: Final = ("order topic on a read-only broker", "illegal queue id")
_ACCEPTING: Final = ("legal queue id", "may inherit", "retry topic")
"""Guards that state a rule. Other guards state where a request is, or a fact that is not visible from outside."""
_NOT: Final = "not: "
_FIELDS: Final = {"topics": "topic", "topic_config": "topic", "route": "route", "max_offset": "offset"}
"""What an event reports, by its kind; other events report a response."""


def is_specified(history: ParsedHistory) -> bool:
    """Whether the specification describes the broker's settings, no message is near their limit of its size, and no administrator lists a
    topic of the broker as ordered in a name server."""
    needs = history.program.needs
    described = needs != ALONE and UNSPECIFIED.isdisjoint(settings_of(needs)) and "brokerPermission" not in history.unreadable
    return described and not _meets_limit(history) and not _is_ordered(history)


def _is_ordered(history: ParsedHistory) -> bool:
    """Whether a name server's list of order topics has a topic of the broker. It becomes ordered with a registration, which the
    specification of topics does not know."""
    listed = {each.fields.get("key") for each in history.exchanges if each.fields.get("namespace") == ORDER_TOPIC_CONFIG}
    return any(each.request["to"] != NAME_SERVER and each.fields.get("topic") in listed for each in history.exchanges if listed)


def _meets_limit(history: ParsedHistory) -> bool:
    """Whether a message is near a limit of sizes below the default one. The specification does not know the limits."""
    most = java_int(history.settings.get("maxMessageSize", ""))
    if most is None or most >= _LIMIT:
        return False
    return any(whole_number(exchange.request.get("bodySize", 0)) > most - _BESIDE_BODY for exchange in history.exchanges)


def judge_specification(program: ProgramExchanges, path: Path, bound: SearchBound = EXPANDED) -> JudgeResult:
    """Judge the responses in a program's own topics. `bound` limits the search. Raises TraceError for a malformed event."""
    history = program.history
    verdict = judge_exchanges(history.header, history.recorded, program.profile, limit=bound.states, seconds=bound.seconds)
    if verdict.interrupted:  # a partly judged program counts as not judged: the run continues with it
        raise KeyboardInterrupt
    by_seq = {event.seq: event for event in history.exchanges} | {event.end: event for event in history.exchanges}
    own = (event for event in verdict.findings if _is_own(event, by_seq.get(event.seq), history.names))  # the others: `judge_shared`
    return JudgeResult(
        "specification",
        [_unexplained(event, program.profile) for event in own],
        rules_held=frozenset() if verdict.unknown else rules_of_actions(program.profile, verdict.actions),
        explained=verdict.explained,
        unknown=verdict.unknown,
        actions=verdict.actions,
        shared=touched(history, path),
    )


def _is_own(event: UnexplainedEvent, exchange: Exchange | None, names: ProgramNames) -> bool:
    """Whether an unexplained event concerns only topics of its program. `exchange` is its request, None for a report of the broker's
    topics.

    A request without a topic may concern a shared topic that other programs created and filled.
    """
    if exchange is not None and "topic" in exchange.fields:
        return names.is_mine(str(exchange.fields["topic"]))
    common = SHARED_TOPICS if exchange is not None else (HALF_TOPIC,)  # reports of other shared topics are not judged
    return all(names.is_mine(topic) for topic in event.part.rpartition(" at ")[0].split(", ") if topic not in common)


def _unexplained(event: UnexplainedEvent, profile: str) -> ProgramFinding:
    refused = event.refused
    guard = f"{refused.action}: {refused.guard}" if refused.guard else ""
    values = tuple((name, str(value), refused.meanings.get(name, "")) for name, value in refused.values.items())
    rules = contradicted(profile, refused.action, refused.guard)
    finding = ProgramFinding(
        "specification", f"specification.{event.op}", str(event), seq=event.seq, guard=guard, sentence=refused.sentence
    )
    difference = LabelledDifference(
        event.place, _FIELDS.get(event.op, "response"), f"the specification {refused.specified}", event.recorded
    )
    return replace(finding, values=values, rules=rules, difference=difference)


def judge_shared(programs: Iterable[JudgedProgram], profile: str, bound: SearchBound = EXPANDED) -> list[JudgedProgram]:
    """Judge each shared topic over all programs by the specification. The results have program number 0."""
    programs_judged = []
    for shared in judge_topics([program.shared for program in programs if program.shared is not None], profile, bound):
        judged = JudgedProgram(0, shared.path, SHARED, frozenset(), by=("specification",), explained=shared.verdict.explained)
        judged.unknown = (shared.verdict.unknown,) if shared.verdict.unknown else ()
        judged.actions = shared.verdict.actions
        judged.rules_held = frozenset() if shared.verdict.unknown else rules_of_actions(profile, shared.verdict.actions)
        judged.deviations += [_unexplained(shared.finding, profile)] if shared.finding is not None else []
        programs_judged.append(judged)
    return programs_judged


@cache
def guards(profile: str) -> Mapping[tuple[str, str], str]:
    """Return the rule that is contradicted if a guard rejects what a broker did, by action and guard.

    Only guards of actions by which a request proceeds are included. If a broker rejects a request, its response does not show which of
    several reasons applied.
    """
    stated = _stating(profile)
    rule = {_NOT + guard: id_ for (_, guard), id_ in stated.items()} | {g: id_ for (_, g), id_ in stated.items() if g in _ACCEPTING}
    going_on = [action for action in _actions(profile) if not action.name.startswith("refuse_")]
    return {(action.name, guard.name): rule[guard.name] for action in going_on for guard in action.guards if guard.name in rule}


def contradicted(profile: str, action: str, guard: str) -> tuple[str, ...]:
    """Return the rule that is contradicted if this guard of this action rejects. Empty if the guard states no rule."""
    rule = guards(profile).get((action, guard))
    return () if rule is None else (rule,)


def rules_of_actions(profile: str, actions: Collection[str]) -> frozenset[str]:
    """Return the rules of the actions that explain what a broker did."""
    return frozenset(rule for (action, _), rule in _stating(profile).items() if action in actions)


@cache
def _stating(profile: str) -> Mapping[tuple[str, str], str]:
    """Map each action and guard that states a rule to that rule, the first of its action."""
    switches = PROFILES[profile]
    names = (*(_NAMES if switches.check_names else ()), *(("reserved name",) if switches.reserves_template else ()))
    wanted = {*names, *_REFUSING, *_ACCEPTING}
    return {(action.name, guard.name): action.rules[0] for action in _actions(profile) for guard in action.guards if guard.name in wanted}


def _actions(profile: str) -> Sequence[Action]:
    return model_of(MachineShape(profile, ("template", "ordinary", "retry"), 8))[1].actions
