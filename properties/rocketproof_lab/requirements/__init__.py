"""Rule by rule: where the implementation says it does it, which tests passed for it, which steps of the specification state it.

Nothing is listed by hand. A rule is implemented where the docstring of a function or class of `rocketproof_impl`, or of
`rocketproof_protocol`, whose names of the wire it stands on, names its
id. The docstring of a module counts only if the module defines neither, so that a table of contents is no evidence. A test
is one that was marked with the id and passed.
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
"""Per id the tests that passed, failed and were skipped, as the pytest plugin writes them."""

_NOT_RUN: Mapping[str, Sequence[str]] = {"passed": (), "failed": (), "skipped": ()}
_PLUGIN = "rocketproof_lab.requirements.plugin"
_RAN = (0, 1, 5)  # pytest's exit codes for: all passed, some failed, none found
_STDERR = 2


@dataclass(frozen=True)
class Requirement:
    """A rule with its evidence: places as `module:qualname`, tests by their pytest names, actions of the specification.

    `stopped`: the run of the tests was interrupted, so that a test of the rule may not have run.
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
        """Why it is not covered; empty if it is."""
        said = [] if self.implementation else ["no code names it"]
        if self.failed:
            said.append("a marked test failed")
        elif self.stopped:
            said.append("stopped by Ctrl-C before all tests had run")
        elif not self.tests:
            said.append("every marked test was skipped" if self.skipped else "no marked test of it ran")
        return "; ".join(said)

    def record(self) -> dict[str, Any]:
        """The JSON form."""
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
    """Every rule with its places in the code and in the specification, in the order of the rules. Raises InputError if the implementation
    cannot be read."""
    places, actions = implemented(), stated()
    return [Requirement(rule, tuple(places.get(id_, ())), model=tuple(actions.get(id_, ()))) for id_, rule in rules().items()]


def tested(rules: Sequence[Requirement], results: Results, *, stopped: bool) -> list[Requirement]:
    """The rules with what became of their tests. `stopped`: the results are those of an interrupted run."""
    return [
        replace(
            one,
            tests=tuple(results.get(one.rule.id, _NOT_RUN)["passed"]),
            failed=tuple(results.get(one.rule.id, _NOT_RUN)["failed"]),
            skipped=tuple(results.get(one.rule.id, _NOT_RUN)["skipped"]),
            stopped=stopped,
        )
        for one in rules
    ]


def stated() -> dict[str, list[str]]:
    """Per rule the actions of the specification, in any of its scopes, that carry its id."""
    from rocketproof_spec import NAMES, part

    found: dict[str, dict[str, None]] = {}
    for scope in NAMES:
        for action in part(scope).model.actions:
            for id_ in action.rules:
                found.setdefault(id_, {})[action.name] = None
    return {id_: list(names) for id_, names in found.items()}


def read(path: Path) -> Results:
    """The results that `pytest --requirements` wrote. Raises InputError for anything else."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"results {path} cannot be read ({error.strerror}); make them with `pytest --requirements=FILE`") from None
    except ValueError:
        raise InputError(f"results {path} are not JSON; make them with `pytest --requirements=FILE`") from None
    if not _are_results(data):
        raise InputError(f"{path} holds no results by id; make them with `pytest --requirements=FILE`")
    found: Results = data
    return found


def so_far(path: Path) -> Path:
    """Return the file that has the results so far while a run goes on, whose results will be in `path`."""
    return path.with_name(path.name + ".so-far")


def _are_results(data: Any) -> bool:
    return isinstance(data, dict) and all(
        isinstance(outcomes, dict)
        and outcomes.keys() == {"passed", "failed", "skipped"}
        and all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in outcomes.values())
        for outcomes in data.values()
    )


def run_tests(folder: Path | None) -> tuple[Results, bool]:
    """Run the marked tests of a folder, by default the project's, in a process of their own; its output goes to stderr. Return the results
    and whether an interrupt ended the run before the last test.

    Raises InputError if there is no such folder or the tests cannot be run, and KeyboardInterrupt if it came before the first result.
    """
    chosen = folder or Path(__file__).resolve().parents[3] / "tests"
    if not chosen.is_dir():
        said = f"--tests {folder} is not a folder" if folder else "the project's tests are not installed"
        raise InputError(f"{said}; give the folder of tests with --tests, or results of a run with --results")
    chosen = chosen.resolve()
    with tempfile.TemporaryDirectory(prefix="rocketproof-") as scratch:
        path = Path(scratch) / "results.json"
        command = [sys.executable, "-m", "pytest", "-p", _PLUGIN, "-m", "behaviour", f"--requirements={path}", str(chosen)]
        # The tests find what this process has found, installed or not.
        environment = {**os.environ, "TMPDIR": scratch, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path)}
        try:
            done = completed(command, cwd=chosen.parent, env=environment, stdout=_STDERR)
        except KeyboardInterrupt:
            if not so_far(path).exists():
                raise
            interrupts.heard()
            return read(so_far(path)), True
        if done.returncode not in _RAN or not path.exists():
            raise InputError(f"the tests in {chosen} could not be run (pytest ended with {done.returncode}); fix what it says above")
        return read(path), False
