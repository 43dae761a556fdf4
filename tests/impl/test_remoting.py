"""Frames, headers and dispatch."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import behaviour
from sending import HEADER, NULL_POINTER, FakeChannel, Stand, send_request, thrown
from simulated import fields_of

from rocketproof_impl.executor import ThreadPool
from rocketproof_impl.java import JavaError
from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import NOT_SET, ONE_WAY, RESPONSE, Command, response_to
from rocketproof_impl.remoting.dispatch import Dispatcher, Processor
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, encode_v1, encode_v2, parse_request_header
from rocketproof_impl.remoting.ports import Channel
from rocketproof_impl.simulator.network import SimulatedChannel, SimulatedNetwork
from rocketproof_impl.simulator.scheduler import Scheduler
from rocketproof_impl.tasks import Future
from rocketproof_protocol.codes import REQUEST_CODE_NOT_SUPPORTED, SYSTEM_ERROR

ERROR = "org.apache.rocketmq.remoting.exception.RemotingCommandException"

# Frames

texts = st.text(st.characters(codec="utf-8"), max_size=20)
ints = st.integers(-(2**31), 2**31 - 1)
commands = st.builds(
    Command,
    code=st.integers(-(2**15), 2**15 - 1),
    ext_fields=st.none() | st.dictionaries(texts, texts, min_size=1, max_size=5),
    body=st.none() | st.binary(min_size=1, max_size=50),
    opaque=ints,
    flag=st.integers(0, 3),
    version=st.integers(0, 500),
    language=st.sampled_from(["JAVA", "PYTHON", "GO", "OTHER"]),
    remark=st.none() | texts.filter(bool),
)


@pytest.mark.parametrize("serialisation", [frame.JSON, frame.ROCKETMQ])
@given(sent=st.lists(commands, max_size=3), cut=st.integers(0, 200))
@behaviour("REM-01")
def test_commands_survive_the_wire_in_any_pieces(serialisation: int, sent: list[Command], cut: int) -> None:
    stream = b"".join(frame.encode(command, serialisation) for command in sent)
    buffer, found = bytearray(), []
    for piece in (stream[:cut], stream[cut:]):
        buffer += piece
        while (command := frame.take(buffer)) is not None:
            found.append(command)
    assert found == sent
    assert not buffer


@behaviour("REM-01")
def test_frame_layout() -> None:
    command = Command(310, {"a": "pg"}, b"body", opaque=5, flag=2, remark="r")
    data = frame.encode(command)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    assert data[4] == frame.JSON
    size = int.from_bytes(data[5:8], "big")
    assert json.loads(data[8 : 8 + size]) == {
        "code": 310,
        "extFields": {"a": "pg"},
        "flag": 2,
        "language": "JAVA",
        "opaque": 5,
        "remark": "r",
        "serializeTypeCurrentRPC": "JSON",
        "version": 399,
    }
    assert data[8 + size :] == b"body"
    binary = frame.encode(command, frame.ROCKETMQ)
    assert binary[4] == frame.ROCKETMQ
    # code 310, JAVA, 399, opaque 5, flag 2, remark "r", 9 bytes of fields: "a" is "pg"
    assert binary[8:-4].hex() == "013600018f0000000500000002" + "0000000172" + "00000009" + "000161" + "000000027067"


@behaviour("REM-01")
def test_an_absent_body_and_null_fields() -> None:
    header = b'{"code":10,"extFields":{"a":null,"b":4,"k":false,"i":"x"},"opaque":3,"remark":null}'
    data = (4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header
    command = frame.take(bytearray(data))
    assert command == Command(10, {"b": "4", "k": "false", "i": "x"}, None, opaque=3, version=0)


@pytest.mark.parametrize(
    "data",
    [
        (2**31).to_bytes(4, "big"),
        b"\x00\x00\x00\x04\x00\x00\x00\x09",
        b"\x00\x00\x00\x05\x07\x00\x00\x01x",
        b"\x00\x00\x00\x05\x00\x00\x00\x01x",
        b"\x00\x00\x00\x02ab",
        b"\x00\x00\x00\x05\x01\x00\x00\x01x",
        b"\x00\x00\x00\x06\x00\x00\x00\x02[]",
    ],
)
@behaviour("REM-01")
def test_malformed_frames_are_errors(data: bytes) -> None:
    with pytest.raises(frame.FrameError):
        frame.take(bytearray(data))


# Headers

FULL = SendMessageRequestHeader("A", "B", "C", 1, 2, 3, 4, 5, "I", 6, True, 7, True)
LETTERS = dict(zip("abcdefghijklm", ["A", "B", "C", "1", "2", "3", "4", "5", "I", "6", "true", "7", "true"], strict=True))
NAMES = {
    "producerGroup": "A",
    "topic": "B",
    "defaultTopic": "C",
    "defaultTopicQueueNums": "1",
    "queueId": "2",
    "sysFlag": "3",
    "bornTimestamp": "4",
    "flag": "5",
    "properties": "I",
    "reconsumeTimes": "6",
    "unitMode": "true",
    "maxReconsumeTimes": "7",
    "batch": "true",
}


@behaviour("REM-04", "M-120")
def test_the_letters_and_the_names_of_the_send_header() -> None:
    assert encode_v2(FULL) == LETTERS
    assert encode_v1(FULL) == NAMES
    assert parse_request_header(310, LETTERS) == parse_request_header(320, LETTERS) == parse_request_header(10, NAMES) == FULL


@pytest.mark.parametrize(
    ("letter", "text", "values"),
    [
        ("i", "P", {"properties": "P"}),
        ("j", "8", {"reconsume_times": 8}),
        ("k", "true", {"unit_mode": True}),
        ("l", "9", {"max_reconsume_times": 9}),
        ("m", "true", {"batch": True}),
    ],
)
@behaviour("REM-04", "M-120")
def test_each_optional_letter_is_one_field(letter: str, text: str, values: dict[str, Any]) -> None:
    bare = replace(FULL, properties=None, reconsume_times=None, unit_mode=False, max_reconsume_times=None, batch=False)
    header = replace(bare, **values)
    assert encode_v2(header) == encode_v2(bare) | {letter: text}
    assert parse_request_header(310, {name: LETTERS[name] for name in "abcdefgh"} | {letter: text}) == header


@behaviour("REM-04", "SEND-02")
def test_other_codes_have_no_send_header() -> None:
    assert parse_request_header(36, LETTERS | NAMES) is None
    assert parse_request_header(11, LETTERS | NAMES) is None


@pytest.mark.parametrize(
    ("code", "given", "missing"),
    [
        *((310, {name: value for name, value in LETTERS.items() if name != letter}, letter) for letter in "abcdefgh"),
        (10, LETTERS, "producerGroup"),
        (310, NAMES, "a"),
        (310, None, "a"),
    ],
)
@behaviour("REM-04")
def test_a_to_h_are_required_under_their_long_names(code: int, given: dict[str, str] | None, missing: str) -> None:
    with pytest.raises(JavaError, match=f"{ERROR}: the custom field <{missing}> is null"):
        parse_request_header(code, given)


@behaviour("REM-04")
def test_i_to_m_are_optional_and_empty_differs_from_absent() -> None:
    given = {name: LETTERS[name] for name in "abcdefgh"}
    bare = replace(FULL, properties=None, reconsume_times=None, unit_mode=False, max_reconsume_times=None, batch=False)
    assert parse_request_header(310, given) == parse_request_header(320, given) == bare
    assert set(encode_v2(bare)) == set("abcdefghkm")
    for text, value in (("TRUE", True), ("1", False), (" true", False), ("", False)):
        assert parse_request_header(310, given | {"k": text, "m": text}) == replace(bare, unit_mode=value, batch=value)
    assert parse_request_header(310, given | {"b": "", "i": ""}) == replace(bare, topic="", properties="")


@pytest.mark.parametrize(("letter", "text"), [("d", "2147483648"), ("e", ""), ("f", "1.0"), ("g", "9223372036854775808"), ("h", " 1")])
@behaviour("REM-04")
def test_invalid_numbers_are_errors(letter: str, text: str) -> None:
    with pytest.raises(JavaError, match=f'java.lang.NumberFormatException: For input string: "{text}"'):
        parse_request_header(310, LETTERS | {letter: text})


@pytest.mark.parametrize("profile", ["P40", "P45", "P49"])
@behaviour("REM-04", "REM-08")
def test_a_header_that_cannot_be_read_is_answered(profile: str) -> None:
    stand = Stand(profile)
    request = send_request(opaque=3)
    del fields_of(request)["b"]
    answer = stand.ask(request)
    assert (answer.code, answer.ext_fields) == (SYSTEM_ERROR, None)
    assert str(answer.remark).startswith(f"{ERROR}: the custom field <b> is null, ")
    answer = stand.ask(Command(310, opaque=4))
    assert str(answer.remark).startswith(f"{ERROR}: the custom field <a> is null, ")
    answer = stand.ask(Command(310, encode_v2(HEADER) | {"e": "2147483648"}, opaque=4))
    assert str(answer.remark).startswith('java.lang.NumberFormatException: For input string: "2147483648", ')
    assert stand.stored() == []


@pytest.mark.parametrize(
    ("missing", "known", "code", "start"),
    [
        ("a", True, 0, None),
        ("b", True, SYSTEM_ERROR, "The specified topic is blank."),
        ("c", True, 0, None),
        ("c", False, SYSTEM_ERROR, NULL_POINTER),
        ("d", True, 0, None),
        ("d", False, SYSTEM_ERROR, NULL_POINTER),
        ("e", True, SYSTEM_ERROR, NULL_POINTER),
        ("e", False, SYSTEM_ERROR, NULL_POINTER),  # this creates the topic
        ("f", True, SYSTEM_ERROR, NULL_POINTER),
        ("g", True, SYSTEM_ERROR, NULL_POINTER),
        ("h", True, SYSTEM_ERROR, NULL_POINTER),
    ],
)
@behaviour("REM-04", "REM-08", "CHK-10")
def test_recorded_broker_fails_when_it_uses_a_missing_field(missing: str, known: bool, code: int, start: str | None) -> None:
    stand = Stand("P494")
    if known:
        stand.topic()
    request = send_request()
    del fields_of(request)[missing]
    answer = stand.ask(request)
    assert answer.code == code
    assert str(answer.remark).startswith(str(start))


@behaviour("REM-04")
def test_invalid_numbers_are_reported_with_short_names_only() -> None:
    stand = Stand("P494")
    assert thrown(stand.ask(Command(310, encode_v2(HEADER) | {"e": "x"})), 'java.lang.NumberFormatException: For input string: "x", ')
    assert thrown(stand.ask(Command(10, encode_v1(HEADER) | {"queueId": "x"})), NULL_POINTER)
    assert stand.ask(Command(10, encode_v1(HEADER) | {"reconsumeTimes": "x"})).code == 0


@pytest.mark.parametrize(("missing", "made"), [("group", False), ("offset", True), ("delayLevel", True)])
@behaviour("BACK-01", "REM-04")
def test_retry_topic_is_created_before_a_missing_field_fails(missing: str, made: bool) -> None:
    stand = Stand("P494")
    stand.send()
    fields = {"offset": "0", "group": "G", "delayLevel": "0"}
    del fields[missing]
    assert thrown(stand.ask(Command(36, fields)), NULL_POINTER)
    assert ("%RETRY%G" in stand.known()) is made
    assert len(stand.stored()) == 1


# Dispatch


@behaviour("REM-02")
def test_fresh_answer_is_a_system_error() -> None:
    answer = response_to(Command(10, opaque=7, flag=ONE_WAY))
    assert (answer.code, answer.remark, answer.opaque, answer.is_response, answer.is_one_way) == (1, NOT_SET, 7, True, False)


class Server:
    """A dispatcher with one processor of code 1; `give` decides its answers, exceptions or futures."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.dispatcher = Dispatcher()
        self.channel = FakeChannel()
        self.executor = ThreadPool(self.scheduler, "send")
        self.dispatcher.processors[1] = Processor(self.process, self.executor)
        self.give: object = None
        self.served = 0

    async def process(self, _: Channel, request: Command) -> Command | Future[Command | None] | None:
        self.served += 1
        if isinstance(self.give, BaseException):
            raise self.give
        return self.give if isinstance(self.give, Future) else Command(0, opaque=99, flag=0) if self.give == "answer" else None

    def receive(self, *, opaque: int = 5, flag: int = 0) -> list[Command]:
        self.dispatcher.receive(self.channel, Command(1, opaque=opaque, flag=flag))
        self.scheduler.settle()
        return self.channel.written


@pytest.fixture
def server() -> Server:
    return Server()


@behaviour("REM-05", "HAZ-26", "INV-03")
def test_an_unknown_code_is_answered_even_to_one_way_callers(server: Server) -> None:
    for flag in (0, ONE_WAY):
        server.dispatcher.receive(server.channel, Command(4711, opaque=8, flag=flag))
        answer = server.channel.written[-1]
        expected = (REQUEST_CODE_NOT_SUPPORTED, " request type 4711 not supported", 8, True)
        assert (answer.code, answer.remark, answer.opaque, answer.is_response) == expected
    assert len(server.channel.written) == 2


@behaviour("REM-05")
def test_the_default_processor_serves_the_other_codes(server: Server) -> None:
    server.dispatcher.default = server.dispatcher.processors.pop(1)
    server.give = "answer"
    assert [answer.code for answer in server.receive()] == [0]


@behaviour("REM-05")
def test_unexpected_response_is_dropped(server: Server) -> None:
    assert server.receive(flag=RESPONSE) == []
    assert server.served == 0


@pytest.mark.parametrize("flag", [0, ONE_WAY])
@behaviour("REM-08", "INV-04")
def test_an_answer_is_marked_and_carries_the_opaque(server: Server, flag: int) -> None:
    assert server.receive(flag=flag) == [], "no response is no answer"
    server.give = "answer"
    written = server.receive(opaque=1234, flag=flag)
    assert [(one.code, one.opaque, one.is_response) for one in written] == ([] if flag else [(0, 1234, True)])
    assert server.served == 2


@pytest.mark.parametrize(
    ("error", "start"),
    [
        (JavaError("java.lang.ArithmeticException", "/ by zero"), "java.lang.ArithmeticException: / by zero, process(test_remoting.py:"),
        (JavaError("java.lang.NullPointerException"), "java.lang.NullPointerException, process(test_remoting.py:"),
        (ValueError("bad"), "java.lang.RuntimeException: ValueError: bad, "),  # of this implementation
    ],
)
@behaviour("REM-08")
def test_throwable_becomes_the_answer(server: Server, error: Exception, start: str) -> None:
    server.give = error
    assert server.receive(opaque=6, flag=ONE_WAY) == []
    (answer,) = server.receive(opaque=6)
    assert (answer.code, answer.opaque, answer.ext_fields, answer.is_response) == (SYSTEM_ERROR, 6, None, True)
    assert str(answer.remark).startswith(start)


@behaviour("REM-09", "SEND-07")
def test_finished_future_is_answered_by_its_own_task(server: Server) -> None:
    future: Future[Command | None] = Future()
    server.give = future
    assert server.receive() == []
    assert server.executor.running == []
    future.complete(Command(0))
    assert server.channel.written == []
    assert len(server.executor.running) == 1
    server.scheduler.settle()
    assert [answer.opaque for answer in server.channel.written] == [5]


@behaviour("REM-09", "HAZ-24")
def test_a_future_that_fails_is_never_answered(server: Server) -> None:
    future: Future[Command | None] = Future()
    future.fail(JavaError("java.lang.NullPointerException"))
    server.give = future
    assert server.receive() == []


class Watching:
    def __init__(self, events: list[object], *, raises: bool = False) -> None:
        self.events = events
        self.raises = raises

    def before(self, remote: str, request: Command) -> None:
        self.events.append(("before", remote, request.opaque))
        if self.raises:
            raise JavaError("java.lang.SecurityException", "who are you")

    def after(self, remote: str, request: Command, response: Command | None) -> None:
        self.events.append(("after", remote, None if response is None else response.code))


@behaviour("REM-08")
def test_hooks_run_around_every_request(server: Server) -> None:
    events: list[object] = []
    server.dispatcher.hooks = [Watching(events)]
    server.receive()
    server.give = "answer"
    server.receive()
    caller = "127.0.0.1:50001"
    assert events == [("before", caller, 5), ("after", caller, None), ("before", caller, 5), ("after", caller, 0)]


@behaviour("REM-08")
def test_error_of_a_before_hook_becomes_the_answer(server: Server) -> None:
    server.dispatcher.hooks = [Watching([], raises=True)]
    (answer,) = server.receive()
    assert str(answer.remark).startswith("java.lang.SecurityException: who are you, ")
    assert server.served == 0


# The client's side


@behaviour("REM-12")
def test_one_way_call_does_not_wait_and_keeps_no_entry() -> None:
    scheduler = Scheduler()
    network = SimulatedNetwork(scheduler)
    arrived: list[Command] = []

    class Silent:
        def receive(self, channel: SimulatedChannel, command: Command) -> None:
            arrived.append(command)

    network.listen("127.0.0.1:10911", Silent())
    client = network.endpoint("127.0.0.1:50001")
    scheduler.complete(client.post("127.0.0.1:10911", Command(1)))
    channel = network.channel("127.0.0.1:50001", "127.0.0.1:10911")
    assert arrived[0].is_one_way
    assert channel.pending == {}
    waiting = scheduler.spawn(client.call("127.0.0.1:10911", Command(1), 3000))
    scheduler.settle()
    assert list(channel.pending) == [arrived[1].opaque]
    with pytest.raises(TimedOut):
        scheduler.run(waiting.done)
    assert channel.pending == {}
