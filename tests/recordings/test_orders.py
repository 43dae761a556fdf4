"""Orders that explain one-way requests: log order, later positions, and requests checked early but stored later."""

from __future__ import annotations

from typing import Any

import pytest

from nonempty import nonempty
from rocketproof_properties.brokers.runs.parsed import ParsedHistory
from rocketproof_properties.judging.reference.orders import Arrived, Item, orders
from rocketproof_traces.history import Event
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.history.exchanges import RecordedExchanges


def send(number: int, *, one_way: bool = False, place: int | None = None, op: str = "send") -> Exchange:
    """Build the request with this number; `place` is the offset in its response."""
    fields = {} if place is None else {"fields": {"msgId": f"{0:016X}{place:016X}"}}
    value: dict[str, Any] = {"fields": {"bornTimestamp": str(number)}, "oneWay": one_way}
    return Exchange("client 0", op, "broker-a", number, value, "info" if one_way else "ok", {"code": 0, **fields})


def served(*items: Exchange | Event) -> ParsedHistory:
    exchanges, others = ([item for item in items if isinstance(item, kind)] for kind in (Exchange, Event))
    return ParsedHistory(RecordedExchanges((), tuple(exchanges), tuple(others)))


def found(*items: Exchange | Event, born: dict[str, int], committed: dict[str, int] | None = None) -> set[tuple[str, ...]]:
    return {tuple(word(one) for one in order) for order in orders(served(*items), born, committed or {})}


def word(item: Item) -> str:
    if isinstance(item, Arrived):
        return f"{item.exchange.seq} arrives"
    return str(item.seq)


def test_without_silent_requests_only_log_order_is_tried() -> None:
    assert found(send(1, place=0), send(2, place=200), born={}) == {("1", "2")}


def test_first_order_is_log_order() -> None:
    items = [send(1, one_way=True), send(2, place=100), send(3, place=500)]
    first = next(orders(served(*items), {"1": 300}, {}))
    assert [word(one) for one in first] == ["2", "1", "3"]


@pytest.mark.parametrize(
    ("born", "order"),
    [
        ({"1": 300}, ("1 arrives", "2", "1")),  # its topic is made, and another message is stored before it
        ({"1": 300}, ("2", "1")),
        ({"1": 0}, ("2 arrives", "1", "2")),  # the other request creates its topic, and is stored after it
        ({}, ("1 arrives", "2")),  # it was not stored yet when everything was read back
        ({}, ("2",)),
        ({}, ("1", "2")),
    ],
)
def test_send_may_be_checked_and_stored_later_or_never(born: dict[str, int], order: tuple[str, ...]) -> None:
    assert order in found(send(1, one_way=True), send(2, place=100), born=born)


def test_each_transaction_ends_where_its_message_is_in_log() -> None:
    ends = [
        Exchange("client 0", "end_transaction", "broker-a", n, {"fields": {"commitLogOffset": str(n)}, "oneWay": True}, "info")
        for n in (1, 2)
    ]
    assert ("1", "3", "4", "2") in found(*ends, send(3, place=400), send(4, place=500), born={}, committed={"1": 300, "2": 600})


def test_stored_messages_are_never_omitted() -> None:
    assert all("1" in order for order in found(send(1, one_way=True), send(2, place=100), born={"1": 0}))


def test_requests_keep_send_order_and_follow_earlier_responses() -> None:
    items = [send(1, one_way=True), send(2, one_way=True), send(3, place=100), send(4, one_way=True)]
    for order in nonempty(found(*items, born={"1": 900, "2": 500, "4": 700})):
        arrivals = [event for event in order if event.endswith("arrives")]
        assert arrivals in ([], ["3 arrives"], ["1 arrives", "2 arrives", "4 arrives"])
        if len(arrivals) > 1:
            assert order.index("2 arrives") < order.index("3") < order.index("4 arrives")
            assert all(order.index(f"{number} arrives") < order.index(str(number)) for number in (1, 2, 4))


def test_only_sends_arrive_before_they_are_served() -> None:
    end = send(1, one_way=True, op="end_transaction")
    assert found(end, send(2, place=100), born={}) == {("1", "2"), ("2", "1"), ("2",)}
