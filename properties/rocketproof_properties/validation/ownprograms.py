"""A target for a user's tests: their requests are recorded and judged like the programs of a validation.

The pytest plugin provides it as fixtures: `rocketproof_target`, `rocketproof_client`, `rocketproof_judge`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocketproof_impl.remoting.command import VERSION, Command

from ..brokers.deployment import Deployment
from ..brokers.runs.runner import Bounds, ProgramRun, Runner
from ..judging.judging import judge_file
from ..judging.specification import EXPANDED
from ..judging.undecided import Undecided
from ..judging.verdicts import JudgedProgram
from ..programs.call import RecordedCall
from ..programs.program import Program
from ..programs.settings import while_running
from ..programs.vocabulary import Step, request_of
from .validate import mark

OWN = Program(0, "", (("back", {}),))
"""The program in the history of a test that chooses its steps as it runs: anything may be delayed."""


class Suite:
    """A target that runs for a whole test session. `needs` is its configuration, if any."""

    def __init__(self, running: Deployment, profile: str, folder: Path, name_server: str | None = None, needs: str = "") -> None:
        self.profile, self._needs = profile, needs
        running.name_server = name_server or running.name_server
        origin = {"target": {"name": running.name}, "profile": profile}
        self._runner = Runner(running, folder, origin, Bounds(1), mark(), while_running(needs))

    def client(self) -> SuiteClient:
        """Return a client with new names and its own history."""
        return SuiteClient(self._runner, self._runner.begin(replace(OWN, needs=self._needs)))

    def close(self) -> None:
        self._runner.close()

    def judge(self, client: SuiteClient, accept: Collection[str] = ()) -> JudgedProgram:
        """Read the state that the client left, and judge its history. Raises AssertionError for a deviation that is not accepted, and
        Undecided if the specification's judge reached its bound.

        `accept` are ids of properties. Violations that the catalogue expects for the profile are always accepted.
        """
        return self._judged(client.finish(), accept)

    def perform(self, steps: Sequence[Step], accept: Collection[str] = ()) -> JudgedProgram:
        """Run a program with the clients that its steps name, by default one, and judge it as `judge` does."""
        return self._judged(self._runner.perform(Program(0, "", tuple(steps), self._needs)), accept)

    def _judged(self, path: Path, accept: Collection[str]) -> JudgedProgram:
        judged = judge_file(path, self.profile)
        findings = [finding for finding in judged.findings if finding.property not in accept]
        if findings:
            raise AssertionError(
                "\n".join([*(f"{finding.property}: {finding.text}" for finding in findings), f"recorded in {judged.path}"])
            )
        if judged.unknown:
            more = f"rocketproof judge {judged.path} --profile {self.profile} --limit {10 * EXPANDED.states}"
            raise Undecided("\n".join([*(f"not decided: {reason}" for reason in judged.unknown), f"judge it with a larger bound: {more}"]))
        return judged


class SuiteClient:
    """Sends requests and records them. Names of topics and groups get a prefix: `topic("orders")` returns the name on the wire."""

    def __init__(self, runner: Runner, program_run: ProgramRun) -> None:
        self._runner = runner
        self._run = program_run
        self._client = program_run.clients[0]
        self._steps: list[tuple[str, dict[str, Any]]] = []
        self._finished = False

    @property
    def history(self) -> Path:
        """The file of the recorded history."""
        return self._run.path

    def topic(self, name: str) -> str:
        return self._run.context.names.topic(name)

    def send(self, **args: Any) -> Command | None:
        """Send a message with topic, body, queue, properties and so on, as in the step `send` of a program.

        Return the response, None if there is none.
        """
        return self.step("send", **args)

    def step(self, name: str, /, **args: Any) -> Command | None:
        """Perform a step of a program, such as back, topic, group, route. Raises InputError for an unknown step."""
        self._steps.append((name, args))
        call = request_of((name, args), self._run.context)
        return None if call is None else self._client.call(call)

    def call(
        self, code: int, fields: Mapping[str, str] | None = None, body: bytes | None = None, *, version: int = VERSION
    ) -> Command | None:
        """Send any request to the broker, unchanged."""
        return self._client.call(RecordedCall("other", self._run.context.broker, code, dict(fields or {}), body, version))

    def finish(self) -> Path:
        """Read the state, close the connections, and return the history. A second call changes nothing."""
        if not self._finished:
            self._finished = True
            self._run.program = replace(self._run.program, steps=tuple(self._steps))
            try:
                self._runner.end(self._run)
            finally:
                self._run.close()
        return self._run.path
