"""A target for somebody's own tests: what they send is recorded and judged as programs of a validation are.

The pytest plugin makes fixtures of it: `rocketproof_target`, `rocketproof_client`, `rocketproof_judge`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocketproof_impl.remoting.command import VERSION, Command

from ..brokers.deployment import Deployment
from ..brokers.runs.runner import Bounds, ProgramRun, Runner
from ..judging.judging import EXPANDED, JudgedProgram, judge_file
from ..judging.undecided import Undecided
from ..programs.call import RecordedCall
from ..programs.program import Program
from ..programs.settings import while_running
from ..programs.vocabulary import Step, request_of
from .validate import mark

OWN = Program(0, "", (("back", {}),))
"""What a history says of steps that a test of one's own chooses as it goes: anything may be delayed."""


class Suite:
    """A target that runs for a whole test session. `needs` names the configuration that it was given, if any."""

    def __init__(self, running: Deployment, profile: str, folder: Path, name_server: str | None = None, needs: str = "") -> None:
        self.profile, self._needs = profile, needs
        running.name_server = name_server or running.name_server
        origin = {"target": {"name": running.name}, "profile": profile}
        self._runner = Runner(running, folder, origin, Bounds(1), mark(), while_running(needs))

    def client(self) -> SuiteClient:
        """A client with fresh names and a history of its own."""
        return SuiteClient(self._runner, self._runner.begin(replace(OWN, needs=self._needs)))

    def close(self) -> None:
        self._runner.close()

    def judge(self, client: SuiteClient, accept: Collection[str] = ()) -> JudgedProgram:
        """Read back what the client left, and judge it. Raises AssertionError for what is not as described and not accepted, and Undecided
        if the specification's judge reached its bound.

        `accept` are ids of properties; what the catalogue expects of the profile needs none.
        """
        return self._judged(client.finish(), accept)

    def perform(self, steps: Sequence[Step], accept: Collection[str] = ()) -> JudgedProgram:
        """Perform a program of one client, or of as many as its steps name, and judge it as `judge` does."""
        return self._judged(self._runner.perform(Program(0, "", tuple(steps), self._needs)), accept)

    def _judged(self, path: Path, accept: Collection[str]) -> JudgedProgram:
        judged = judge_file(path, self.profile)
        found = [one for one in judged.findings if one.property not in accept]
        if found:
            raise AssertionError("\n".join([*(f"{one.property}: {one.text}" for one in found), f"recorded in {judged.path}"]))
        if judged.unknown:
            more = f"rocketproof judge {judged.path} --profile {self.profile} --limit {10 * EXPANDED.states}"
            raise Undecided("\n".join([*(f"not decided: {one}" for one in judged.unknown), f"judge it with a larger bound: {more}"]))
        return judged


class SuiteClient:
    """Sends requests and records them. Names of topics and groups get a prefix of their own: `topic("orders")` is the real one."""

    def __init__(self, runner: Runner, under_way: ProgramRun) -> None:
        self._runner = runner
        self._under_way = under_way
        self._client = under_way.clients[0]
        self._steps: list[tuple[str, dict[str, Any]]] = []
        self._finished = False

    @property
    def history(self) -> Path:
        """The file in which everything is recorded."""
        return self._under_way.path

    def topic(self, name: str) -> str:
        return self._under_way.context.names.topic(name)

    def send(self, **args: Any) -> Command | None:
        """A message: topic, body, queue, properties and so on, as in the step `send` of a program; its answer, None if none came."""
        return self.step("send", **args)

    def step(self, name: str, /, **args: Any) -> Command | None:
        """A step of a program, such as back, topic, group, route. Raises InputError for one that there is not."""
        self._steps.append((name, args))
        call = request_of((name, args), self._under_way.context)
        return None if call is None else self._client.call(call)

    def call(
        self, code: int, fields: Mapping[str, str] | None = None, body: bytes | None = None, *, version: int = VERSION
    ) -> Command | None:
        """Any request to the broker, as it is."""
        return self._client.call(RecordedCall("other", self._under_way.context.broker, code, dict(fields or {}), body, version))

    def finish(self) -> Path:
        """Read back what is there, and close the connections; the history. A second call changes nothing."""
        if not self._finished:
            self._finished = True
            self._under_way.program = replace(self._under_way.program, steps=tuple(self._steps))
            try:
                self._runner.end(self._under_way)
            finally:
                self._under_way.close()
        return self._under_way.path
