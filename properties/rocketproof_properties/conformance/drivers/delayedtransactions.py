"""Drives a simulated broker by the model of delays and transactions together, through the drivers of both models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocketproof_model import Action, Instance
from rocketproof_profiles import Profile
from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.properties import CHECK_TIMES, DELAY, TRAN_MSG
from rocketproof_protocol.topics import RETRY_PREFIX
from rocketproof_spec.meeting import SHARED, Meeting

from .base import ModelDriver, Seen, require
from .broker import SimulatedBroker
from .delays import DelaysDriver
from .transactions import LEVEL, TransactionsDriver

RETRY = f"{RETRY_PREFIX}consumers"


class DelayedTransactionsDriver(ModelDriver):
    """A broker that is shared by two drivers. Each sees the other's messages in the log."""

    def __init__(self, specification: Meeting, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        checks, rejects = specification.transactions.checks, self.constants["rejects"]
        self.broker = SimulatedBroker(profile, transaction_check_max=checks, reject_transaction_message=rejects)
        self.delay = DelaysDriver(specification.delays, instance, profile, self.broker)
        self.half = TransactionsDriver(specification.transactions, instance, profile, self.broker)

    def perform(self, action: Action, args: Sequence[int]) -> None:
        part, _, name = action.name.partition("_")
        driver: ModelDriver | None = {"delay": self.delay, "half": self.half}.get(part)
        if driver is None:
            super().perform(action, args)
        else:
            driver.perform(replace(action, name=name), args)

    def _do_retry(self, e: int) -> None:
        """A consumer from before 4.6.1 sends the message with all its properties, after sending it back has failed."""
        del e
        committed = next(m for m in self.broker.records() if m.transaction == COMMIT and CHECK_TIMES not in m.properties)
        require(committed.properties.get(TRAN_MSG) == "true", "the committed message has no TRAN_MSG any more: the specification keeps it")
        properties = {**committed.properties, DELAY: str(LEVEL)}
        self.broker.accepted("send", topic=RETRY, body="message", properties=properties, times=1)
        self.broker.dispatch()
        self.half.sent["delayed"] = True
        self.half.asked = 0

    def seen(self) -> Seen:
        delay, half = self.delay.seen(), self.half.seen()
        values = {_named("delay", key): value for key, value in delay.items()}
        values |= {_named("half", key): value for key, value in half.items() if key not in SHARED}
        return values


def _named(part: str, key: object) -> object:
    """Return a variable's key as it is in the combined model."""
    return (f"{part}_{key[0]}", *key[1:]) if isinstance(key, tuple) else f"{part}_{key}"
