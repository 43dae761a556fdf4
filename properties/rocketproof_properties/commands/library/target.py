"""`Target`: a broker for a user's program; its responses are recorded and judged."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rocketproof_model import RocketproofError
from rocketproof_profiles import PROFILES

from ...reports.choices import InputError, known

if TYPE_CHECKING:
    from ...judging.verdicts import JudgedProgram
    from ...validation.ownprograms import Suite, SuiteClient


class Target:
    """A context manager for a broker, running or started for this, with clients whose histories are judged.

    `where` is an address such as `127.0.0.1:10911`, or the TOML file of a user's target. Other values start a broker: `apache:4.9.4` (a
    release), `served` (the implementation over TCP), `inprocess` (the implementation without TCP). `profile` is the profile to judge by, by
    default `P49` for an address. `nameserver` is the name server's address. Histories are added to the folder `histories`; without it they
    are deleted when the target is closed.

    `needs` is a configuration for which `validate` has programs, such as `no write permission` or `regionId=eu, traceOn=false`. The brokers
    run with its settings.

        with rocketproof.Target("127.0.0.1:10911", profile="P494") as target:
            client = target.client()
            client.send(topic="orders", body="one")
            target.judge(client)
    """

    def __init__(
        self,
        where: str,
        *,
        profile: str | None = None,
        nameserver: str | None = None,
        histories: str | os.PathLike[str] | None = None,
        needs: str = "",
    ) -> None:
        self.where = where
        self.profile = None if profile is None else known("profile", profile, PROFILES)
        self._nameserver = nameserver
        self._histories = None if histories is None else Path(histories)
        self._needs = needs
        self._stack = ExitStack()
        self._suite: Suite | None = None

    def __enter__(self) -> Target:
        """Connect to the broker, or start it. Raises RocketproofError if that fails."""
        from ...brokers.choose import choose_named
        from ...brokers.deployment import setup_of
        from ...brokers.runs.configured import configured
        from ...programs.settings import CONFIGURED, STARTED, is_known, while_running
        from ...validation.ownprograms import Suite

        needs = self._needs if is_known(self._needs) else known("configuration", self._needs, (*CONFIGURED, *STARTED))
        target = choose_named(self.where, self.profile)
        with ExitStack() as stack:
            running = stack.enter_context(target.open(setup_of(needs)))
            stack.enter_context(configured(running, while_running(needs)))
            folder = self._histories or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rocketproof")))
            folder.mkdir(parents=True, exist_ok=True)
            self._suite = Suite(running, target.profile, folder, self._nameserver, needs)
            stack.callback(self._suite.close)
            self._stack = stack.pop_all()
        self.profile = target.profile
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._suite = None
        self._stack.close()

    def client(self) -> SuiteClient:
        """Return a client with its own topics and groups. Its requests and responses are recorded."""
        new_client = self._open.client()
        self._stack.callback(_finish, new_client)
        return new_client

    def judge(self, client: SuiteClient, accept: Collection[str] = ()) -> JudgedProgram:
        """Read the state that a client left, and judge its whole history. Raises AssertionError for a deviation, and Undecided if the judge
        reached its bound.

        `accept` are ids of properties whose findings are no failure. Violations that the catalogue expects for the profile are always
        accepted.
        """
        __tracebackhide__ = True
        return self._open.judge(client, accept)

    def perform(self, steps: Sequence[tuple[str, Mapping[str, Any]]], accept: Collection[str] = ()) -> JudgedProgram:
        """Run a program, such as `[("send", {"topic": "orders"}), ("back", {})]`, with its own topics and groups, and judge it as `judge`
        does.

        Steps of several clients have `"client": n`; they run concurrently.
        """
        __tracebackhide__ = True
        return self._open.perform([(name, dict(args)) for name, args in steps], accept)

    @property
    def _open(self) -> Suite:
        if self._suite is None:
            raise InputError(f"target {self.where} is not open; use it in a with statement")
        return self._suite


def _finish(client: SuiteClient) -> None:
    """Close a client that was not judged. A lost broker was reported before."""
    with suppress(RocketproofError):
        client.finish()
