"""The evidence for each rule: where the implementation states it, which tests passed for it, which actions of the specification state it.

Nothing is listed by hand. A rule is implemented if a docstring of a function or class of `rocketproof_impl` or of `rocketproof_protocol`
contains its id. A module's docstring counts only if the module defines neither, so a table of contents is not evidence. A test is evidence
if it is marked with the id and passed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rocketproof_model import interrupts
from rocketproof_properties.brokers.children import completed
from rocketproof_properties.catalogue.places import implemented
from rocketproof_properties.catalogue.rules import BehaviourRule, rules
from rocketproof_properties.reports.choices import InputError

Coverage = Literal["covered", "no implementation", "no test", "failed test", "undecided"]
Results = Mapping[str, Mapping[str, Sequence[str]]]
"""By id: the tests that passed, failed and were skipped, as written by the pytest plugin."""

_NOT_RUN: Mapping[str, Sequence[str]] = {"passed": (), "failed": (), "skipped": ()}
_PLUGIN = "rocketproof_lab.requirements.plugin"
_RAN = (0, 1, 5)  # pytest's exit codes for: all passed, some failed, none found
_STDERR = 2


@dataclass(frozen=True)
class Requirement:
    """A rule with its evidence: places as `module:qualname`, tests by their pytest names, actions of the specification.

    `stopped`: the test run was interrupted, so a test of the rule may not have run.
    """

    rule: BehaviourRule
    implementation: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    stopped: bool = False

    @property
    def status(self) -> Coverage:
        if not self.implementation:
            return "no implementation"
        if self.failed:
            return "failed test"
        if self.stopped:
            return "undecided"
        return "covered" if self.tests else "no test"

    @property
    def is_gap(self) -> bool:
        return self.status not in ("covered", "undecided")

    @property
    def reason(self) -> str:
        """Why the rule is not covered, empty if it is."""
        reasons = [] if self.implementation else ["no code names it"]
        if self.failed:
            reasons.append("a marked test failed")
        elif self.stopped:
            reasons.append("stopped by Ctrl-C before all tests had run")
        elif not self.tests:
            reasons.append("every marked test was skipped" if self.skipped else "no marked test of it ran")
        return "; ".join(reasons)

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "id": self.rule.id,
            "section": self.rule.section,
            "sentence": self.rule.sentence,
            "implementation": list(self.implementation),
            "tests": list(self.tests),
            "failed": list(self.failed),
            "model": list(self.model),
            "status": self.status,
            "reason": self.reason,
        }


def untested() -> list[Requirement]:
    """Return every rule with its places in the code and the specification, in the order of the rules. Raises InputError if the
    implementation cannot be read."""
    places, actions = implemented(), stated()
    return [Requirement(rule, tuple(places.get(id_, ())), model=tuple(actions.get(id_, ()))) for id_, rule in rules().items()]


def tested(rules: Sequence[Requirement], results: Results, *, stopped: bool) -> list[Requirement]:
    """Return the rules with the results of their tests. `stopped`: the run was interrupted."""
    return [
        replace(
            requirement,
            tests=tuple(results.get(requirement.rule.id, _NOT_RUN)["passed"]),
            failed=tuple(results.get(requirement.rule.id, _NOT_RUN)["failed"]),
            skipped=tuple(results.get(requirement.rule.id, _NOT_RUN)["skipped"]),
            stopped=stopped,
        )
        for requirement in rules
    ]


def stated() -> dict[str, list[str]]:
    """Return the actions of the specification, in all its scopes, that have each rule's id."""
    from rocketproof_spec import NAMES, part

    actions: dict[str, dict[str, None]] = {}
    for scope in NAMES:
        for action in part(scope).model.actions:
            for id_ in action.rules:
                actions.setdefault(id_, {})[action.name] = None
    return {id_: list(names) for id_, names in actions.items()}


def read(path: Path) -> Results:
    """Return the results that `pytest --requirements` wrote. Raises InputError for other files."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"results {path} cannot be read ({error.strerror}); make them with `pytest --requirements=FILE`") from None
    except ValueError:
        raise InputError(f"results {path} are not JSON; make them with `pytest --requirements=FILE`") from None
    if not _are_results(data):
        raise InputError(f"{path} holds no results by id; make them with `pytest --requirements=FILE`")
    results: Results = data
    return results


def so_far(path: Path) -> Path:
    """Return the file with the results so far of a running test session whose final results go to `path`."""
    return path.with_name(path.name + ".so-far")


def _are_results(data: Any) -> bool:
    return isinstance(data, dict) and all(
        isinstance(outcomes, dict)
        and outcomes.keys() == {"passed", "failed", "skipped"}
        and all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in outcomes.values())
        for outcomes in data.values()
    )


def run_tests(folder: Path | None) -> tuple[Results, bool]:
    """Run the marked tests of a folder, by default the project's, in a child process. Its output goes to stderr. Return the results and
    whether an interrupt ended the run early.

    Raises InputError if the folder does not exist or the tests cannot run, and KeyboardInterrupt if it arrives before the first result.
    """
    chosen = folder or Path(__file__).resolve().parents[3] / "tests"
    if not chosen.is_dir():
        problem = f"--tests {folder} is not a folder" if folder else "the project's tests are not installed"
        raise InputError(f"{problem}; give the folder of tests with --tests, or results of a run with --results")
    chosen = chosen.resolve()
    with tempfile.TemporaryDirectory(prefix="rocketproof-") as scratch:
        path = Path(scratch) / "results.json"
        command = [sys.executable, "-m", "pytest", "-p", _PLUGIN, "-m", "behaviour", f"--requirements={path}", str(chosen)]
        # The tests import from the same places as this process.
        environment = {**os.environ, "TMPDIR": scratch, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path)}
        try:
            process = completed(command, cwd=chosen.parent, env=environment, stdout=_STDERR)
        except KeyboardInterrupt:
            if not so_far(path).exists():
                raise
            interrupts.heard()
            return read(so_far(path)), True
        if process.returncode not in _RAN or not path.exists():
            raise InputError(f"the tests in {chosen} could not be run (pytest ended with {process.returncode}); fix what it says above")
        return read(path), False
