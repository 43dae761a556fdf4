"""The targets of the faults: the implementation does what the specification allows, and an error planted in it is a finding."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rocketproof_impl import nameserver, persistence
from rocketproof_impl.broker import checking, sending, topics, transaction
from rocketproof_impl.broker.offsets import ConsumerOffsetManager
from rocketproof_impl.broker.registration import Registration
from rocketproof_impl.broker.slave import SlaveSynchronize
from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_impl.broker.transaction import EndTransactionProcessor
from rocketproof_impl.broker.transactioncheck import HalfQueueRound
from rocketproof_impl.periodic import Periodic
from rocketproof_impl.producer import instance, producer
from rocketproof_impl.producer.send import Sending
from rocketproof_impl.remoting import dispatch
from rocketproof_impl.remoting.ports import Rejected, RequestTask
from rocketproof_impl.simulator.disk import SimulatedRegion
from rocketproof_impl.store import delay, flushing, haclient, recovery
from rocketproof_impl.store.files import MappedFile
from rocketproof_impl.store.flush import Durability, Wanted
from rocketproof_impl.store.flushing import GroupCommitService
from rocketproof_impl.store.ha import OFFSET
from rocketproof_impl.store.service import MessageStore
from rocketproof_impl.tasks import Wait
from rocketproof_model.result import Move
from rocketproof_model.specification import NAMES, part
from rocketproof_model.specification.delays import Delays
from rocketproof_model.specification.flushing import Flushing
from rocketproof_profiles import PROFILES
from rocketproof_properties.choices import InputError
from rocketproof_properties.sources.source import UNPERFORMED, Source
from rocketproof_properties.stateful.engine import TARGETS, target_of
from rocketproof_properties.stateful.follow import Finding
from rocketproof_properties.stateful.machine import Campaign, perform, run
from rocketproof_properties.stateful.replay import replay
from rocketproof_properties.targets.base import Deviation
from rocketproof_properties.targets.delays import DelaysTarget
from rocketproof_properties.targets.flush import FlushTarget
from rocketproof_properties.targets.pair import RECORD
from rocketproof_protocol.properties import TRAN_MSG

behaviour = pytest.mark.behaviour
GIVEN: dict[str, dict[str, Any]] = {
    "persistence": {"crash_budget": 2, "error_budget": 1, "power_budget": 1},
    "answers": {},
    "locks": {},
    "expiry": {},
    "recovery": {"crash_budget": 1, "power_budget": 1},
    "sizes": {},
    "flush": {},
    "news": {},
    "patience": {},
    "producers": {},
    "dispatch": {},
    "pair": {"lags": True},
    "registrations": {"loss": True, "restart": True, "two": True, "wipe": True},
    "delays": {"end_budget": 1, "fails": True, "power": True, "set_back": True},
    "transactions": {"steady": False},
    "meeting": {"may_delay": True},
    "device": {"fails": True, "closes": True, "crash_budget": 1, "power_budget": 2},
    "progress": {"crash_budget": 1, "power_budget": 2, "stop_budget": 2, "resets": True},
    "backs": {"change_budget": 1, "way": "either"},
}
PROGRAMS = 25


def found(scope: str, profile: str = "P49", given: dict[str, Any] | None = None) -> Finding | None:
    source = Source(scope, profile, tuple(sorted((GIVEN[scope] if given is None else given).items())))
    subject = source.subject()
    return run(Campaign(subject.instance, target_of(source, subject)), PROGRAMS, 5, shrink=False)


@pytest.mark.parametrize("scope", GIVEN)
def test_the_implementation_does_what_the_specification_allows(scope: str) -> None:
    assert found(scope) is None


@behaviour("REC-02")
@pytest.mark.parametrize("before", [[], [Move("dispatch", ()), Move("flush_queue", ())]], ids=["log", "queue"])
def test_what_a_start_has_cut_off_is_gone_for_good_though_its_bytes_are_not(before: list[Move]) -> None:
    """The ends of the log and of a queue move back at a start and nothing is wiped: another crash leaves the same bytes behind them."""
    source = Source("recovery", "P49", tuple(sorted(GIVEN["recovery"].items())))
    subject = source.subject()
    begin, end = Move("append", ()), [Move("power_loss", (0, len(before) // 2, True)), Move("start", ()), Move("crash", ())]
    perform(Campaign(subject.instance, target_of(source, subject)), [begin, *before, *end])


@behaviour("PER-10")
def test_a_release_that_overwrites_in_place_does_what_the_specification_allows() -> None:
    assert found("persistence", "P533") is None


@behaviour("TCM-17", "TCM-30", "TCM-34", "NS-02", "NS-03")
@pytest.mark.parametrize("profile", ["P494", "P533"])
@pytest.mark.parametrize("given", [{"asks": True}, {"loss": True, "restart": True}], ids=["asks", "faults"])
def test_a_release_that_registers_one_topic_alone_does_what_the_specification_allows(profile: str, given: dict[str, Any]) -> None:
    assert found("registrations", profile, given) is None


@behaviour("TCM-34", "NS-04")
def test_so_does_one_whose_single_topics_name_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that takes them from any broker is found."""
    given = {"bare": True, "loss": True, "restart": True}
    assert found("registrations", "P533", given) is None
    steps = ["create(t=A)", "restart(n=first)", "register(s=message)"]
    replay("registrations", "P533", [*steps, "refuse(n=first, s=message)"], given)
    monkeypatch.setattr(nameserver.NameServer, "register_topic", lambda self, topic, queues: self._update_queue_data(topic, queues[0]))
    with pytest.raises(Finding, match="route"):
        replay("registrations", "P533", [*steps, "refuse(n=first, s=message)"], given)


FOLLOWED = ["register_slave()", "connect()"]


def more_than_it_has(end: int) -> bytes:
    return OFFSET.pack(end + RECORD)


def good_enough(self: Durability, where: int) -> bool:
    """A slave that is exactly as far behind as none may be is good."""
    behind = where - self.replicas.push2_slave_max_offset
    return self.replicas.connections > 0 and behind <= self.settings.ha_slave_fall_behind_max


async def copies_nothing(self: SlaveSynchronize) -> None:
    return None


def asks_nobody(self: Durability, appended: Any, message: Any) -> None:
    return None


@behaviour("FLU-07", "FLU-08", "INV-06", "NS-08")
@pytest.mark.parametrize(
    ("where", "name", "planted", "steps"),
    [
        (Durability, "slave_ok", good_enough, [*FOLLOWED, "put(late=False)", "time_out()", "put(late=False)"]),
        (Durability, "ask_replica", asks_nobody, ["put(late=True)"]),
        (haclient, "OFFSET", SimpleNamespace(pack=more_than_it_has), [*FOLLOWED, "put(late=False)", "copy()", "report()", "confirm()"]),
        (SlaveSynchronize, "sync_all", copies_nothing, ["create()", "register_slave()", "copy_topics()", "lose_master()", "promote()"]),
        (nameserver.NameServer, "_clean", lambda self, broker: None, ["create()", "lose_master()"]),
    ],
    ids=["lag", "flush first", "report", "topics", "route"],
)
def test_another_pair_is_a_finding(where: Any, name: str, planted: Any, steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    replay("pair", "P49", steps, {"lags": True})
    monkeypatch.setattr(where, name, planted)
    with pytest.raises(Finding):
        replay("pair", "P49", steps, {"lags": True})


HIDDEN = ["update(t=A, unit=False)", "create(t=B)", "register(s=administrator)", "take(n=first, s=administrator)", "register(s=message)"]


@behaviour("TCM-30", "NS-03", "INV-18", "HAZ-55")
def test_the_version_of_a_registration_is_that_of_its_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that remembers the version of the change would hide nothing."""
    replay("registrations", "P494", [*HIDDEN, "ignore(n=first, s=message)"])
    register = Registration._register_alone

    async def remembers(self: Registration, config: Any) -> None:
        version, self._topics.data_version = self._topics.data_version, self._topics.data_version.copy()
        await register(self, config)
        self._topics.data_version = version

    monkeypatch.setattr(Registration, "_register_alone", remembers)
    with pytest.raises(Finding, match="version"):
        replay("registrations", "P494", HIDDEN)


@behaviour("NS-02", "HAZ-56")
def test_a_name_server_that_refuses_no_single_topic_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["restart(n=first)", "update(t=A, unit=False)", "register(s=administrator)"]
    replay("registrations", "P494", [*steps, "take(n=first, s=administrator)"], {"restart": True})
    with pytest.raises(Finding):
        replay("registrations", "P533", [*steps, "take(n=first, s=administrator)"], {"restart": True})
    monkeypatch.setattr(nameserver.NameServer, "is_topic_config_changed", lambda self, address, version: True)
    with pytest.raises(Finding, match="route"):
        replay("registrations", "P494", [*HIDDEN, "ignore(n=first, s=message)"])


@behaviour("TCM-31", "TCM-32", "PERM-02", "NS-12")
@pytest.mark.parametrize(
    ("where", "name", "steps"),
    [
        (topics.TopicConfigManager, "_changed", ["update(t=A, unit=False)"]),
        (topics.TopicConfigManager, "delete", ["create(t=A)", "delete(t=A)"]),
        (nameserver.NameServer, "wipe_write_perm", ["create(t=A)", "register(s=message)", "take(n=first, s=message)", "wipe(n=first)"]),
        (topics.TopicConfigManager, "update_order", ["create(t=A)", "apply_order()"]),
    ],
)
def test_a_change_that_is_none_is_a_finding(where: type, name: str, steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    replay("registrations", "P49", steps, {"wipe": True})
    monkeypatch.setattr(where, name, lambda self, *args: None)
    with pytest.raises(Finding):
        replay("registrations", "P49", steps, {"wipe": True})


def no_backup(disk: Any, text: str, path: str) -> None:
    disk.write(path + ".tmp", text.encode())
    disk.delete(path)
    disk.rename(path + ".tmp", path)


def in_place(disk: Any, text: str, path: str) -> None:
    disk.write(path, text.encode())


def loud(disk: Any, text: str, path: str, *, in_place: bool) -> None:
    """A persist whose error leaves it: the topic's creation ends with it."""
    persistence.string_to_file(disk, text, path)


def from_temporary(disk: Any, path: str, decode: Callable[[str], None]) -> bool:
    for name in (path, path + ".tmp", path + ".bak"):
        content = disk.read(name)
        if content:
            decode(content.decode())
            return True
    return True


PERSISTENCE = {
    "no backup": ("string_to_file", no_backup),
    "the file is overwritten in place": ("string_to_file", in_place),
}


WRITE = ["truncate_tmp()", "half_tmp()", "fill_tmp()", "truncate_bak()", "half_bak()", "fill_bak()", "delete_main()"]


@behaviour("PER-02", "PER-05", "PER-06", "PER-07", "INV-26", "INV-27", "INV-28", "INV-29")
@pytest.mark.parametrize("name", PERSISTENCE)
def test_another_way_to_write_the_table_is_a_finding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, planted = PERSISTENCE[name]
    monkeypatch.setattr(persistence, function, planted)
    assert found("persistence") is not None


@behaviour("PER-03", "PER-05", "PER-08")
def test_a_start_from_the_temporary_file_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["create(t=1)", *WRITE, "crash()", "start()"]
    replay("persistence", "P49", steps, GIVEN["persistence"])
    monkeypatch.setattr(persistence, "load", from_temporary)
    with pytest.raises(Finding, match="memory"):
        replay("persistence", "P49", steps, GIVEN["persistence"])


@behaviour("PER-01", "TCM-18")
def test_an_error_that_leaves_persist_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, "persist", loud)
    steps = ["create(t=1)", "truncate_tmp()", "disk_full()"]
    with pytest.raises(Finding, match="persist raises"):
        replay("persistence", "P49", steps, GIVEN["persistence"])


@behaviour("PER-06")
def test_the_second_order_loss_happens_on_the_broker() -> None:
    """An emptied main file, its copy in the backup, an end before the rename: a start finds nothing."""
    steps = ["create(t=1)", *WRITE, "rename_tmp()", "power_loss(main=emptied, bak=kept)", "start()"]
    steps += ["create(t=2)", *WRITE, "crash()", "start()"]
    followed = replay("persistence", "P49", steps, GIVEN["persistence"])
    state = followed.instance.model.variables
    names = {v.name: code for v, code in zip(state, followed.state, strict=True)}
    assert names["memory"] == 0
    assert names["promised"] == 0b11


@behaviour("REM-07", "INV-03")
def test_an_overload_told_to_a_one_way_caller_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def tells(self: dispatch.Dispatcher, processor: Any, channel: Any, request: Any) -> None:
        try:
            processor.executor.submit(RequestTask(lambda: self._serve(processor, channel, request), channel, request))
        except Rejected:
            dispatch.write(channel, dispatch.system_busy(request, "overload"))

    steps = ["submit(r=0, one_way=True)", "submit(r=1, one_way=True)", "overload(r=2, one_way=True)"]
    replay("answers", "P49", steps)
    monkeypatch.setattr(dispatch.Dispatcher, "_submit", tells)
    with pytest.raises(Finding, match="answers"):
        replay("answers", "P49", steps)


@behaviour("REM-09", "INV-01", "INV-02", "HAZ-24")
def test_a_future_whose_exception_is_answered_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answers(self: Any, channel: Any, request: Any, future: Any) -> None:
        dispatch.write(channel, dispatch.response_to(request))

    steps = ["submit(r=0, one_way=False)", "hand_over(r=0)", "future_throws(r=0)", "end(r=0)"]
    replay("answers", "P49", steps)
    monkeypatch.setattr(dispatch.Dispatcher, "_completed", answers)
    with pytest.raises(Finding, match="answers"):
        replay("answers", "P49", steps)


@behaviour("TCM-10", "TCM-21", "INV-20", "INV-25", "HAZ-08")
@pytest.mark.parametrize("millis", [2000, 4000])
def test_another_limit_of_the_wait_for_the_lock_is_a_finding(millis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "LOCK_TIMEOUT_MILLIS", millis)
    steps = ["arrive(r=0, retry=False)", "arrive(r=1, retry=True)", *["second()"] * 3, "give_up(r=1)"]
    with pytest.raises(Finding):
        replay("locks", "P49", steps)


@behaviour("NS-07", "LIV-04")
@pytest.mark.parametrize(("millis", "offset"), [(119_000, 10), (121_000, 1)])
def test_another_time_of_expiry_is_a_finding(millis: int, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans 120 s after the last registration, which is not late, or 121 s after it, which is."""
    monkeypatch.setattr(nameserver, "EXPIRED_MILLIS", millis)
    steps = [f"begin(offset={offset})", "die()", *["second()"] * offset, "look()", *[*["second()"] * 10, "look()"] * 12]
    with pytest.raises(Finding, match="listed"):
        replay("expiry", "P49", steps)


def cut_nothing(log: Any, queues: Any, checkpoint: Any, again: Any, **more: Any) -> None:
    log.files.flushed_where = log.files.max_offset


@behaviour("REC-02", "INV-34")
def test_a_recovery_that_leaves_a_torn_record_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "recover", cut_nothing)
    monkeypatch.setattr("rocketproof_impl.store.service.recover", cut_nothing)
    assert found("recovery") is not None


@behaviour("REC-03", "INV-36")
def test_a_start_that_forgets_the_queues_lengths_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MessageStore, "_recover_topic_queue_table", lambda self: None)
    assert found("recovery") is not None


class Hasty(GroupCommitService):
    """A group commit that believes every flush."""

    __slots__ = ()

    async def _flush_to(self, next_offset: int) -> bool:
        await flushing.LOOKS
        self._files.flush()
        return True


class Thorough(GroupCommitService):
    """A group commit whose flush reaches the end of the log."""

    __slots__ = ()

    async def _flush_to(self, next_offset: int) -> bool:
        await flushing.LOOKS
        self._files.flush_all()
        await flushing.LOOKS
        return True


@behaviour("FLU-03", "FLU-05", "LIV-09", "REA-55")
@pytest.mark.parametrize("planted", [Hasty, Thorough])
def test_another_group_commit_is_a_finding(planted: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answers a put for whose record its one flush does not suffice, the second flushes a file more."""
    record = ["lock(p=0)", "append_only(p=0)", "finish(p=0)"]
    steps = [*record * 2, "lock(p=0)", "append(p=0)", "exchange()", "flush(p=0)", "flush(p=0)"]
    replay("flush", "P49", steps)
    monkeypatch.setattr(GroupCommitService, "_flush_to", planted._flush_to)  # type: ignore[attr-defined] # both have it
    with pytest.raises(Finding, match=r"flushed|answer"):
        replay("flush", "P49", steps)


@behaviour("FLU-03", "HAZ-21", "LIV-09")
@pytest.mark.parametrize(("profile", "end"), [("P45", "deny(p=0)"), ("P49", "confirm(p=0)")])
def test_the_look_after_the_second_flush_is_the_releases(profile: str, end: str) -> None:
    record = ["lock(p=0)", "append_only(p=0)", "finish(p=0)"]
    replay("flush", profile, [*record * 2, "lock(p=0)", "append(p=0)", "exchange()", "flush(p=0)", "flush(p=0)", end])


@behaviour("CL-05", "STO-03", "LIV-05", "HAZ-23")
def test_a_lock_time_that_stays_after_an_exception_is_a_finding() -> None:
    steps = ["lock(p=0)", "throw(p=0)"]
    source = Source("flush", "P49", (("throws", True),))
    subject = source.subject()
    specification = part("flush")
    assert isinstance(specification, Flushing)
    made = Campaign(subject.instance, lambda: FlushTarget(specification, subject.instance, PROFILES["P45"]))
    with pytest.raises(Finding, match="age"):
        perform(made, [Move(name, (0,)) for name in ("lock", "throw")])
    replay("flush", "P49", steps, {"throws": True})


@behaviour("FLU-02", "LIV-09")
def test_a_put_with_more_patience_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["lock(p=0)", "append(p=0)", "time_out(p=0)"]
    replay("flush", "P49", steps)
    monkeypatch.setattr(Wanted, "fulfilled", lambda self, millis: waited(self, 60_000))
    with pytest.raises(Finding, match="60000 ms"):
        replay("flush", "P49", steps)


async def waited(wanted: Wanted, millis: int) -> bool:
    return await Wait(wanted.future, millis) and wanted.future.result()


SECONDS = ["second()"] * 30
ASKED = ["begin(offset=29)", "create()", "second()", "ask()"]


@behaviour("NS-10", "CLI-21", "LIV-01", "LIV-02")
def test_another_period_of_registrations_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["begin(offset=0)", *SECONDS, "register()"]
    replay("news", "P49", steps)
    monkeypatch.setattr(Registration, "PERIODIC", (Periodic("register_periodically", 10_000, 40_000),))
    with pytest.raises(Finding, match="40 is not"):
        replay("news", "P49", steps)


@behaviour("NS-06", "CLI-17", "LIV-02")
@pytest.mark.parametrize("millis", [2000, 4000])
def test_another_time_limit_of_a_refresh_is_a_finding(millis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [*ASKED, "second()", "second()", "announce()", "serve()", "second()", "learn()"]
    replay("news", "P49", steps)
    monkeypatch.setattr(instance, "TIMEOUT_MILLIS", millis)
    with pytest.raises(Finding):
        replay("news", "P49", steps)


@behaviour("CLI-15", "LIV-07")
@pytest.mark.parametrize("millis", [2000, 4000])
def test_another_wait_for_the_clients_lock_is_a_finding(millis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["begin(known=False)", *["second()"] * 3, "lock_times_out()"]
    replay("patience", "P49", steps)
    monkeypatch.setattr(instance, "LOCK_TIMEOUT_MILLIS", millis)
    with pytest.raises(Finding):
        replay("patience", "P49", steps)


@behaviour("CLI-28", "LIV-07")
def test_an_attempt_with_the_full_time_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["begin(known=True)", "attempt(known=True)", "second()", "fails()", "attempt(known=True)"]
    replay("patience", "P49", steps)
    prepare = Sending.prepare
    monkeypatch.setattr(Sending, "prepare", lambda self, queue, timeout: prepare(self, queue, self.timeout))
    with pytest.raises(Finding, match="rest of the time"):
        replay("patience", "P49", steps)


@behaviour("CLI-17")
def test_a_name_server_that_does_not_answer_ends_the_send() -> None:
    replay("patience", "P49", ["begin(known=False)", "get_lock()", *["second()"] * 3, "no_answer()"])


ONE = "send(level=3, asked=1, e=0)"
DUE = [ONE, "elapse()"]
HALF = "put_half(tran=true, delayed=False)"


@behaviour("REC-05", "HAZ-39", "HAZ-48", "AUX-25")
@pytest.mark.parametrize("profile", ["P45", "P494", "P533"])
@pytest.mark.parametrize(
    ("scope", "given"),
    [
        ("delays", {"end_budget": 1, "power": True, "sync": True}),
        ("delays", {"transactional": True}),
        ("transactions", {"steady": False}),
        ("meeting", {}),
    ],
    ids=["sync", "halves", "transactions", "meeting"],
)
def test_each_release_delays_and_ends_as_its_switches_say(scope: str, given: dict[str, Any], profile: str) -> None:
    source = Source(scope, profile, tuple(sorted(given.items())))
    subject = source.subject()
    assert run(Campaign(subject.instance, target_of(source, subject)), PROGRAMS // 2, 5, shrink=False) is None


@behaviour("CL-02", "INV-45")
def test_a_level_that_is_not_capped_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    replay("delays", "P49", [ONE])
    monkeypatch.setattr(delay, "LEVELS", (*delay.LEVELS, delay.LEVELS[-1]))
    monkeypatch.setattr(delay, "MAX_LEVEL", 19)
    with pytest.raises(Finding):
        replay("delays", "P49", [ONE])


@behaviour("REC-05", "AUX-31")
def test_a_delivery_to_another_queue_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def to_the_first(delayed: Any, *, trailing: bool) -> Any:
        message = back(delayed, trailing=trailing)
        message.queue_id = 0
        return message

    back = delay.from_schedule_topic
    replay("delays", "P49", [*DUE, "deliver(e=0)"])
    monkeypatch.setattr(delay, "from_schedule_topic", to_the_first)
    with pytest.raises(Finding, match="place"):
        replay("delays", "P49", [*DUE, "deliver(e=0)"])


@behaviour("REC-05", "AUX-28", "REC-04")
def test_a_level_that_waits_less_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delay, "LEVELS", (*delay.LEVELS[:-1], 0))
    with pytest.raises(Finding, match="due"):
        replay("delays", "P49", [ONE])


@behaviour("REC-05", "AUX-30", "AUX-27")
@pytest.mark.parametrize("switch", ["records_each_delivery", "corrects_delay_offsets"])
def test_another_releases_way_to_keep_offsets_is_a_finding(switch: str) -> None:
    source = Source("delays", "P494", (("end_budget", 1), ("power", True)))
    subject = source.subject()
    other = replace(PROFILES["P494"], **{switch: False})
    specification = part("delays")
    assert isinstance(specification, Delays)
    made = Campaign(subject.instance, lambda: DelaysTarget(specification, subject.instance, other))
    assert run(made, 8 * PROGRAMS, 5, shrink=False) is not None


@behaviour("TRX-01", "TRX-02")
def test_a_gate_that_asks_for_the_property_alone_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    replay("transactions", "P49", ["put_own(tran=false)"])
    monkeypatch.setattr(sending, "is_transactional", lambda message, profile: TRAN_MSG in message.properties)
    with pytest.raises(Finding, match="place"):
        replay("transactions", "P49", ["put_own(tran=false)"])


@behaviour("TRX-03", "INV-09")
def test_a_refusal_before_the_topic_is_made_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["refuse(tran=true)"]
    replay("transactions", "P49", steps, {"rejects": True})
    monkeypatch.setattr(TopicConfigManager, "select", lambda self, topic: None)
    with pytest.raises(Finding):
        replay("transactions", "P49", steps, {"rejects": True})


@behaviour("TRX-04", "REC-01", "REA-78")
def test_an_end_without_an_operation_record_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(self: Any, half: Any) -> None:
        """No record."""

    steps = [HALF, "roll_back(c=0)", "pass_over(c=0)"]
    replay("transactions", "P49", steps)
    monkeypatch.setattr(EndTransactionProcessor, "_delete", nothing)
    with pytest.raises(Finding, match="half"):
        replay("transactions", "P49", steps)


@behaviour("AUX-33")
def test_a_check_that_never_gives_up_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [HALF, "ask(c=0)", "ask(c=1)", "give_up(c=2)"]
    replay("transactions", "P49", steps)
    monkeypatch.setattr(HalfQueueRound, "_asked_often_enough", lambda self, message: False)
    with pytest.raises(Finding):
        replay("transactions", "P49", steps)


@behaviour("TRX-01", "HAZ-47")
def test_a_retry_that_is_known_is_no_half_message(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [f"half_{HALF}", "half_commit(c=0)", "half_pass_over(c=0)", "retry(e=0)", "delay_elapse()", "delay_deliver(e=0)"]
    for profile in ("P49", "P533"):
        replay("meeting", profile, steps if profile == "P49" else [*steps[:2], "half_write_operations()", *steps[2:]])
    monkeypatch.setattr(transaction, "delay_level", lambda message: 0)
    with pytest.raises(Finding, match="asked"):
        replay("meeting", "P533", [*steps[:2], "half_write_operations()", *steps[2:]])


def put_without_wait(self: Durability, appended: Any, message: Any) -> None:
    return None


@behaviour("FLU-02", "INV-06")
def test_an_answer_before_the_flush_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    replay("recovery", "P49", ["append()", "flush()", "acknowledge()"])
    monkeypatch.setattr(Durability, "ask_flush", put_without_wait)
    with pytest.raises(Finding, match="turn"):
        replay("recovery", "P49", ["append()"])


@behaviour("FLU-05", "INV-06")
def test_a_flush_that_forces_nothing_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedRegion, "force", lambda self: None)
    with pytest.raises(Finding, match="not forced"):
        replay("recovery", "P49", ["append()", "flush()"])


def test_every_scope_has_a_target_but_those_that_the_implementation_has_nothing_of() -> None:
    assert {type(part(name)) for name in NAMES if name not in UNPERFORMED} == set(TARGETS)


@pytest.mark.parametrize("scope", UNPERFORMED)
def test_a_scope_that_the_implementation_has_nothing_of_is_said_to_be_one(scope: str) -> None:
    source = Source(scope, "P533")
    with pytest.raises(InputError, match=f"nothing of scope {scope}"):
        target_of(source, source.subject())


def test_what_happens_a_millisecond_into_a_second_counts_from_the_second() -> None:
    """A refresh leaves a millisecond late: a creation or a registration after it in the same second is of that second."""
    replay("news", "P494", ["begin(offset=28)", "second()", "second()", "ask()", "create()", "second()"])
    replay("news", "P494", ["begin(offset=0)", *["second()"] * 30, "ask()", "register()", "second()"])


def test_a_value_that_the_specification_does_not_have_is_a_finding_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    specification = part("flush")
    made = FlushTarget(specification, Source("flush", "P49", ()).subject().instance, PROFILES["P49"])
    monkeypatch.setattr(made, "seen", lambda seen=made.seen: {**seen(), ("put.next", 1): 99})
    with pytest.raises(Deviation, match=re.escape("put.next[1]: 99 is not a value of Int(0, 8)")):
        made.observe()


@behaviour("CLI-03", "CLI-08", "CLI-12")
@pytest.mark.parametrize(
    ("where", "name", "planted"),
    [
        (instance.ClientInstance, "register", lambda self, group, table: self.producer_table.update({group: table}) or True),
        (producer, "check_message", lambda message, limit: message),
    ],
    ids=["a group has two producers", "no message is refused"],
)
def test_another_producer_is_a_finding(where: Any, name: str, planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, name, planted)
    assert found("producers") is not None


@behaviour("SEND-04", "SEND-11", "SEND-42", "INV-56")
@pytest.mark.parametrize(
    ("where", "name", "planted"),
    [
        (checking, "traced", lambda settings: {}),
        (sending, "execute_send_before", lambda hooks, context: [hook.send_message_before(context) for hook in hooks.send]),
        (sending, "build_message_context", lambda *_: None),
    ],
    ids=["no extFields", "a hook's exception goes on", "no context"],
)
def test_another_way_from_a_frame_to_its_answer_is_a_finding(where: Any, name: str, planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, name, planted)
    assert found("dispatch") is not None


@behaviour("FLU-06", "REM-06", "INV-06", "REA-100", "REA-101")
def test_a_pool_of_buffers_does_what_the_specification_allows() -> None:
    replay("device", "P49", [*["put()"] * 3, "reject()", "look()", "commit()", "put()"], {"sync": False, "buffers": 2})
    replay("device", "P49", ["put()", "crash()"], {"sync": False, "buffers": 2, "crash_budget": 1})


@behaviour("FLU-05", "INV-06")
def test_a_store_that_notices_a_failed_force_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trusted, the flushed position moves on though the force failed; noticed, it stays. Either is a finding for the other."""
    given = {"fails": True, "power_budget": 1}
    replay("device", "P49", ["put()", "flush_fails()", "confirm()", "power_loss(kept=0)"], given)
    replay("device", "P49", ["put()", "flush_fails()", "time_out()"], {**given, "trusts_failed_force": False})
    monkeypatch.setattr(MappedFile, "force", lambda self: True)
    with pytest.raises(Finding, match="forced"):
        replay("device", "P49", ["put()", "flush()"], given)


@behaviour("REC-04")
def test_a_dispatch_beyond_what_is_flushed_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["append(marks=False)", "dispatch()", "begin()", "pull()", "power_loss(kept=0)", "go_back()"]
    replay("progress", "P49", steps, {"power_budget": 1})
    replay("progress", "P533", ["append(marks=False)", "flush()", "dispatch()"])
    monkeypatch.setattr(ConsumerOffsetManager, "commit", lambda self, group, topic, queue_id, offset: None)
    with pytest.raises(Finding, match="committed"):
        replay("progress", "P49", [*steps[:4], "commit()"])
