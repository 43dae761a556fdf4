"""State counts of the specification are golden numbers; every engine agrees with the interpreter on its small scopes."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import oracle
import pytest

from nonempty import nonempty
from rocketproof_model import Enum, Instance, Int, Property, liveness, search, symbolic
from rocketproof_model.language import Bool, const
from rocketproof_properties.catalogue import table as catalogue
from rocketproof_spec import SCOPES, Part, Scope, constants, part, specify
from rocketproof_spec.answering import Answering
from rocketproof_spec.controller import Controller
from rocketproof_spec.deadlines import Expiry, News, Patience
from rocketproof_spec.delays import Delays
from rocketproof_spec.device import Device
from rocketproof_spec.dispatching import Dispatching
from rocketproof_spec.flushing import Flushing
from rocketproof_spec.meeting import Meeting
from rocketproof_spec.pairs import MasterAndSlave
from rocketproof_spec.persistence import Persistence
from rocketproof_spec.progress import ConsumerProgress
from rocketproof_spec.recovery import Recovery
from rocketproof_spec.registering import Registrations
from rocketproof_spec.sendbacks import Sendbacks
from rocketproof_spec.sizes import Sizes
from rocketproof_spec.starting import Starting
from rocketproof_spec.times import Times
from rocketproof_spec.transactions import Transactions
from rocketproof_spec.waiting import WaitingRequests

OFF = {"auto_create": False, "template_in_file": True}
GOLDEN = {
    # (scope, profile, given): distinct states, transitions with the initial state, levels
    ("tiny", "P49", ""): (30, 41, 18),
    ("small", "P49", ""): (331124, 1312231, 46),
    ("medium", "P49", ""): (930811, 3770733, 56),
    ("small", "P49", "sends=0"): (147969, 599731, 45),
    ("creation", "P49", ""): (688311, 1889931, 20),
    ("creation", "P49", "auto_create=False,template_in_file=True"): (486229, 1290771, 25),
    ("restart", "P49", ""): (51842, 152177, 30),
    ("store", "P49", "existing=True"): (441560, 1194408, 20),
    ("store", "P49", "existing=True,size_limit=4"): (354274, 967369, 20),
    ("names", "P49", "auto_create=False,template_in_file=True"): (71756, 170975, 32),
    ("names", "P40", "auto_create=False,template_in_file=True"): (73813, 171430, 32),
    ("names", "P49", "update_budget=1,sends=1"): (537786, 1106536, 20),
    ("deletions", "P49", "update_budget=1"): (26799, 73555, 36),
    ("settings", "P49", ""): (20592, 87997, 26),
    ("settings", "P40", ""): (19020, 81175, 26),
    ("told", "P49", "existing=True,existing_read=1,existing_write=1"): (1088, 4945, 25),
    ("told", "P533", "existing=True,existing_read=1,existing_write=1"): (157140, 7852879, 25),
    ("deletions", "P40", "update_budget=1"): (18262, 48625, 36),
    ("deletions", "P49", "update_budget=1,auto_create=False,template_in_file=True,existing=True"): (7945, 21240, 21),
    ("offsets", "P49", "update_budget=1,existing=True"): (21066, 213754, 25),
    ("offsets", "P533", "update_budget=1,existing=True"): (15933, 130776, 25),
    ("timers", "P45", "existing=True"): (2750, 4287, 20),
    ("timers", "P533", "existing=True"): (800, 1142, 9),
    ("skew", "P49", "round_robin=True,burst=1,sends=9"): (569, 657, 59),
    ("skew", "P49", "round_robin=True,burst=5,sends=13"): (1961, 3601, 89),
    ("small", "P49", "auto_create=False,template_in_file=True,sends=0"): (4429, 9675, 33),
    ("creation", "P49", "existing=True,existing_read=2,existing_write=1"): (114244, 308257, 9),
    ("persistence", "P49", ""): (217, 461, 21),
    ("persistence", "P49", "crash_budget=2"): (5816, 12295, 32),
    ("persistence", "P49", "crash_budget=2,earlier=False"): (28159, 63828, 38),
    ("persistence", "P49", "crash_budget=1,power_budget=1"): (36476, 80077, 49),
    ("persistence", "P49", "crash_budget=1,error_budget=1"): (8153, 18351, 29),
    ("persistence", "P533", "crash_budget=2"): (9626, 20969, 41),
    ("answers", "P49", ""): (6860, 30675, 13),
    ("answers", "P45", ""): (512, 2433, 7),
    ("answers", "P49", "capacity=3"): (10976, 41259, 14),
    ("locks", "P49", ""): (18021, 34453, 18),
    ("locks", "P49", "slow=1"): (1383, 2329, 9),
    ("expiry", "P49", ""): (38846, 38939, 146),
    ("news", "P49", ""): (48330, 74512, 74),
    ("patience", "P49", ""): (717, 1701, 26),
    ("flush", "P49", ""): (7291, 26456, 25),
    ("flush", "P45", "throws=True"): (12408, 46507, 25),
    ("producers", "P49", ""): (20318, 54199, 9),
    ("producers", "P49", "way='no route'"): (19456, 52021, 7),
    ("dispatch", "P49", ""): (68, 75, 6),
    ("dispatch", "P533", ""): (45, 49, 6),
    ("sizes", "P494", ""): (38490, 232969, 26),
    ("delays", "P49", ""): (225, 687, 9),
    ("delays", "P49", "end_budget=1,power=True"): (1313, 3910, 14),
    ("delays", "P494", "end_budget=1,power=True,sync=True"): (663, 1940, 13),
    ("delays", "P533", "fails=True,passes_over=True"): (441, 1339, 9),
    ("delays", "P49", "set_back=True"): (573, 2520, 9),
    ("delays", "P45", "transactional=True"): (490, 1503, 9),
    ("transactions", "P49", ""): (136, 434, 9),
    ("transactions", "P533", "steady=False"): (768, 4510, 10),
    ("transactions", "P40", "rejects=True"): (10, 20, 3),
    ("meeting", "P45", "may_delay=True"): (614, 2364, 15),
    ("meeting", "P49", ""): (166, 676, 12),
    ("meeting", "P533", ""): (368, 1436, 13),
    ("recovery", "P49", "power_budget=2"): (3337, 13547, 16),
    ("recovery", "P49", "sync=False,crash_budget=2"): (3584, 10069, 18),
    ("device", "P49", "fails=True,power_budget=1"): (2338, 9593, 24),
    ("device", "P49", "sync=False,buffers=2,crash_budget=1"): (356, 1164, 13),
    ("progress", "P49", "power_budget=2,crash_budget=1,stop_budget=2"): (2841, 11456, 22),
    ("progress", "P533", "power_budget=2,crash_budget=1,stop_budget=2"): (451, 1445, 13),
    ("times", "P49", ""): (777, 4951, 9),
    ("times", "P533", ""): (715, 4577, 9),
    ("times", "P533", "past=False"): (2446, 22440, 9),
    ("times", "P533", "past=False,bounds_by_time='lower'"): (2477, 22843, 9),
    ("controller", "P533", "crash_budget=2"): (39136, 119585, 25),
    ("controller", "P533", "power_budget=1"): (27435, 86657, 23),
    ("pair", "P49", "lags=True"): (2009, 7462, 19),
    ("registrations", "P49", ""): (2044, 5132, 10),
    ("registrations", "P494", "two=True"): (24303, 76118, 14),
    ("registrations", "P533", "restart=True"): (7230, 21973, 13),
    ("registrations", "P533", "bare=True,restart=True"): (5899, 17944, 11),
    ("backs", "P49", ""): (29, 41, 12),
    ("backs", "P49", "group_known=False,limit=16"): (120, 171, 51),
    ("backs", "P49", "way='either',limit=16,change_budget=2"): (3387, 9844, 54),
    ("backs", "P45", "way='either',limit=16,change_budget=2"): (4095, 11523, 54),
    ("backs", "P533", "way='either',limit=16,change_budget=2"): (3372, 9833, 53),
    ("backs", "P533", "names_topic=False,limit=0"): (5, 18, 4),
}


def explore(instance: Instance, **options: Any) -> search.Exploration:
    return search.explore(instance, [], **options)


@pytest.mark.parametrize(("key", "expected"), GOLDEN.items(), ids=["-".join(k) for k in GOLDEN])
def test_golden_counts(key: tuple[str, str, str], expected: tuple[int, int, int]) -> None:
    scope, profile, given = key
    specification = part(scope)
    exploration = explore(specification.model.given(**constants(profile, type(specification), **eval(f"dict({given})"))))
    assert (exploration.states, exploration.transitions, exploration.depth) == expected


LATER = {"existing": True, "checks_commits": True, "checks_committers": True, "deletes_offsets": True}
SMALL: dict[str, tuple[Scope | Callable[[], Part], dict[str, Any]]] = {
    "tiny": (SCOPES["tiny"], {}),
    "tiny-off": (SCOPES["tiny"], OFF),
    "tiny-P40": (SCOPES["tiny"], {"check_names": False, "signed_random": True}),
    "two brokers": (
        replace(SCOPES["small"], producers=1, queues=1, counts=Int(0, 1), numbers=Int(0, 1), queue_ids=Int(-1, 0)),
        {"sends": 1},
    ),
    "two brokers, off": (
        replace(SCOPES["small"], queues=1, counts=Int(0, 1), numbers=Int(0, 1), queue_ids=Int(-1, 0)),
        {**OFF, "sends": 0},
    ),
    "lost": (replace(SCOPES["small"], producers=1), {"loss_budget": 1, "retries": 1, "sends": 1, "template_write": 1}),
    "round robin": (
        replace(SCOPES["skew"], queues=2, counts=Int(0, 2), numbers=Int(0, 2), queue_ids=Int(-1, 1), sends=3),
        {"round_robin": True, "burst": 1, "sends": 2},
    ),
    "one client": (replace(SCOPES["creation"], producers=1), {}),
    "restart": (replace(SCOPES["restart"], producers=1), {}),
    "names": (
        replace(
            SCOPES["names"],
            topics=("template", "retry", "long"),
            queues=1,
            counts=Int(0, 1),
            numbers=Int(1, 1),
            queue_ids=Int(-1, 0),
            draws=Int(0, 0),
            updates=False,
        ),
        {**OFF, "sends": 1},
    ),
    "store": (replace(SCOPES["store"], sizes=Int(1, 3), queue_ids=Int(0, 0)), {"existing": True, "sends": 1}),
    "settings": (SCOPES["settings"], {"sends": 1}),
    "deletions": (SCOPES["deletions"], {"update_budget": 1, "existing": True, "sends": 1}),
    "offsets": (replace(SCOPES["offsets"], told=Int(-1, 0)), {**LATER, "auto_create": False}),
    "offsets, a topic is deleted": (replace(SCOPES["offsets"], topics=("retry", "ordinary")), {**LATER, "update_budget": 1}),
    "timers": (SCOPES["timers"], {"existing": True, "timers": True}),
    "persistence": (
        lambda: Persistence("two topics", topics=2),
        {"crash_budget": 1, "error_budget": 1, "power_budget": 1},
    ),
    "persistence in place": (
        lambda: Persistence("two topics", topics=2),
        {"overwrites_in_place": True, "crash_budget": 2},
    ),
    "answers": (lambda: Answering("two requests", requests=2), {}),
    "locks": (lambda: WaitingRequests("two requests", requests=2), {}),
    "expiry": (lambda: Expiry("soon", expire=6, scan=2, period=3), {}),
    "news": (lambda: News("soon", period=4, request=2), {}),
    "patience": (lambda: Patience("patience"), {}),
    "flush": (lambda: Flushing("small files", file_size=1), {"throws": True}),
    "flush-P45": (
        lambda: Flushing("small files", file_size=1),
        {"throws": True, "rechecks_after_flush": False, "resets_lock_time": False},
    ),
    "dispatch": (lambda: Dispatching("dispatch"), {}),
    "producers": (lambda: Starting("few", Enum("fine", "long"), Enum("fine", "no body")), {}),
    "sizes": (lambda: Sizes("three places", places=3), {"names": False, "flags": False}),
    "delays": (lambda: Delays("delays"), {"records_each_delivery": False, "end_budget": 1, "power": True}),
    "delays, halves": (lambda: Delays("one entry", entries=1), {"transactional": True, "fails": True}),
    "transactions": (
        lambda: Transactions("one check", checks=1),
        {"gathers_operations": True, "steady": False},
    ),
    "meeting": (lambda: Meeting("two copies", copies=2), {"may_delay": True, "discards_delayed_halves": False}),
    "backs": (lambda: Sendbacks("two rounds", rounds=2), {"way": "either", "change_budget": 1}),
    "backs-P45": (
        lambda: Sendbacks("two rounds", rounds=2),
        {
            "way": "either",
            "null_limit": False,
            "null_send_limit": False,
            "names_limit": False,
            "dlq_clears_delay": False,
            "names_origin": False,
            "dlq_perm": 2,
            "version": 120,
        },
    ),
    "recovery": (lambda: Recovery("three records", records=3), {"crash_budget": 1, "power_budget": 1}),
    "device": (lambda: Device("small files", units=2), {"fails": True, "power_budget": 1}),
    "device, a pool": (
        lambda: Device("small files", units=2),
        {"sync": False, "buffers": 2, "crash_budget": 1, "closes": True},
    ),
    "progress": (
        lambda: ConsumerProgress("one fault", faults=1),
        {"power_budget": 1, "crash_budget": 1, "stop_budget": 1, "resets": True},
    ),
    "times": (lambda: Times("three records", records=3, moments=2), {"past": False}),
    "times, both bounds": (lambda: Times("three records", records=3, moments=2), {"past": False, "bounds_by_time": "both"}),
    "controller": (
        lambda: Controller("two epochs", records=1, epochs=2, symmetric=False),
        {"crash_budget": 1, "widens": False},
    ),
    "controller, elected again": (
        lambda: Controller("two epochs", epochs=2, symmetric=False),
        {"counts_log": False, "keeps_offset": False},
    ),
    "pair": (lambda: MasterAndSlave("two records", records=2), {"lags": True}),
    "registrations": (lambda: Registrations("one change", changes=1), {"two": True, "loss": True, "restart": True}),
    "registrations, alone": (
        lambda: Registrations("one change", changes=1),
        {"registers_updated_alone": True, "registers_created_alone": True, "refuses_single_topic": True, "restart": True, "wipe": True},
    ),
    "recovery, not rebuilt": (
        lambda: Recovery("three records", records=3),
        {"sync": False, "rebuilds": False, "crash_budget": 1, "power_budget": 1},
    ),
}


@cache
def small(name: str) -> tuple[Instance, tuple[Property, ...], oracle.Space]:
    """A small scope with its claims and the interpreter's reachable states."""
    scope, given = SMALL[name]
    specification = specify(scope) if isinstance(scope, Scope) else scope()
    instance = specification.model.given(**constants("P49", type(specification), **given))
    return instance, catalogue.properties(specification), oracle.explore(instance)


def of_kind(claims: tuple[Property, ...], *kinds: str) -> list[Property]:
    return [c for c in claims if c.kind in kinds]


DECIDED = ("always", "step", "reachable", "deadlock_free")


def owed(claims: tuple[Property, ...]) -> list[Property]:
    """Return the liveness claims. For a scope without any: everything reachable is always reached again."""
    return of_kind(claims, "leads_to") or [
        replace(claim, kind="leads_to", formula=const(True, Bool), goal=claim.formula) for claim in of_kind(claims, "reachable")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", SMALL)
def test_search_and_interpreter_agree(name: str, workers: int) -> None:
    instance, claims, space = small(name)
    exploration = search.explore(instance, of_kind(claims, *DECIDED), workers=workers)
    assert (exploration.states, exploration.transitions, exploration.depth) == (len(space.states), space.generated, space.levels)
    assert exploration.coverage.guards == space.guards
    assert exploration.coverage.taken == space.taken
    for outcome in exploration.outcomes:
        steps = oracle.shortest(space, outcome.property)
        assert outcome.verdict == oracle.verdict(outcome.property, steps), outcome.property.id
        assert (None if outcome.witness is None else len(outcome.witness)) == steps, outcome.property.id


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_bounded_checking_and_interpreter_agree(name: str) -> None:
    instance, claims, space = small(name)
    depth = 4
    for outcome in nonempty(symbolic.bounded(instance, of_kind(claims, *DECIDED), depth=depth)):
        steps = oracle.shortest(space, outcome.property)
        if steps is None or steps > depth:
            assert (outcome.verdict, outcome.reason) == ("unknown", "bound reached"), outcome.property.id
        else:
            assert outcome.verdict == oracle.verdict(outcome.property, steps), outcome.property.id
            assert outcome.witness is not None and len(outcome.witness) == steps, outcome.property.id


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_liveness_and_networkx_agree(name: str) -> None:
    instance, claims, space = small(name)
    for outcome in nonempty(liveness.check(instance, owed(claims))):
        prefix = oracle.lasso(space, outcome.property)
        assert outcome.verdict == ("holds" if prefix is None else "violated"), outcome.property.id
        if outcome.witness is not None:
            assert outcome.depth == prefix, outcome.property.id
