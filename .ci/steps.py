"""The steps of .ci/run and .ci/nightly: run them, say what each took, and write that to .rocketproof/ci/run.json or nightly.json.

It imports nothing of the project: where a module does not even load, each step still runs and says so.
A step that fails does not end the run: the others say what else is wrong. The exit code is 1 if a step failed, 3 after Ctrl-C.
`.ci/nightly --record` keeps its results in .ci/nightly.json; every nightly run says what is different from those.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / ".rocketproof" / "ci"
RECORD: Final = ROOT / ".ci" / "nightly.json"
MOMENT: Final = 0.1
"""Seconds after which it is asked again whether the work is done."""
GRACE: Final = 10.0
"""Seconds that a step has to end after Ctrl-C."""
SLOWER: Final = 1.5
"""A step whose CPU time is so many times what was recorded is told."""
STOPPED: Final = 3


@dataclass(frozen=True)
class Step:
    """A command. `tests`: it is pytest, and has one result for each test. `single`: it uses one core, so that two such steps in a row run
    at once. `again`: its failed tests get one more try, alone: only for real brokers, as a busy machine makes Java late."""

    name: str
    command: str
    single: bool = False
    again: bool = False

    @property
    def tests(self) -> bool:
        return self.command.startswith("pytest ")

    @property
    def log(self) -> Path:
        return RESULTS / f"{self.name.replace(' ', '-')}.log"

    @property
    def report(self) -> Path:
        return self.log.with_suffix(".xml")


_REAL: Final = "--dist=loadfile --no-loadscope-reorder"
RUN: Final = (
    # The longest of those that use one core first: the others fit beside it.
    Step("page", ".ci/page", single=True),
    Step("types", "mypy", single=True),
    Step("types by pyright", "pyright", single=True),
    Step("lint", "ruff check", single=True),
    Step("format", "ruff format --check", single=True),
    Step("imports", "lint-imports --no-cache --no-logo", single=True),
    Step("documentation", ".ci/docs", single=True),
    Step("Spark", "pytest -m 'not nightly' --durations=5 --numprocesses=0 tests/spark", single=True),
    Step("verdicts", "rocketproof check --fresh"),
    Step("tests", "pytest -m 'not nightly' --durations=15 --requirements=.rocketproof/results.json"),
    Step("requirements", "rocketproof requirements --results .rocketproof/results.json", single=True),
    Step("mutants", "rocketproof mutate --json .rocketproof/mutants.json"),
    Step("long tests", "pytest -m 'not nightly' --durations=5 tests/long"),
    Step("real brokers", "pytest -m 'not nightly' --durations=5 --dist=load tests/real", again=True),  # two releases, at once
)  # fmt: skip
NIGHTLY: Final = (
    Step("tests", "pytest -m nightly --durations=15"),
    # Most of it waits for answers that never come, so more processes than cores take half the time.
    Step("long tests", "pytest -m nightly --durations=15 --numprocesses=4 tests/long"),
    Step("real brokers", f"pytest -m nightly --durations=15 {_REAL} tests/real", again=True),
    Step("Spark", "pytest -m nightly --durations=15 --numprocesses=0 tests/spark"),
    Step("stopped commands", "STOPPED_MOMENTS=20 STOPPED_WITH='spark java' python -m pytest -m '' -n4 tests/long/test_stopped_commands.py"),
    Step("mutants of the specification", "rocketproof mutate --specification --json .rocketproof/ci/specification.json"),
    Step("generated changes", "rocketproof mutate --generated 1000 --seed 36 --cover transitions --json .rocketproof/ci/generated.json"),
    Step("generated models", "python tests/agreement/many_models.py 10000 --results .rocketproof/ci/models.ndjson"),
    Step("mutated stores", "python tests/long/mutated_stores.py --count 100000 --processes 2 --seed 1"),
    Step("peers of the search", "rocketproof bench search --peers --json .rocketproof/ci/search.json"),
    Step("peers of the judge", "rocketproof bench judge --json .rocketproof/ci/judge.json"),
    Step("peers of the audit", "rocketproof bench audit --json .rocketproof/ci/audit.json"),
    Step("gallery", ".ci/gallery"),
)  # fmt: skip


@dataclass
class Result:
    """How a step ended: its exit code (3: stopped), seconds, and of pytest what came of each test."""

    name: str
    code: int
    wall_seconds: float
    cpu_seconds: float
    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)


class Runner:
    """Runs steps, each in a process group of its own; after Ctrl-C those that run are ended, and no other begins."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.stopped = False

    def run(self, step: Step, *, quiet: bool) -> Result:
        """Run a step; its output goes to its log, and while it runs to standard output unless `quiet`."""
        result = self._once(step, _command(step), step.log, quiet=quiet)
        if result.failed and step.again and not self.stopped:
            told = shlex.join(["--last-failed", "--last-failed-no-failures=none", "--numprocesses=0"])
            second = self._once(step, f"{_command(step)} {told}", step.log.with_suffix(".again.log"), quiet=quiet)
            return Result(step.name, second.code, result.wall_seconds + second.wall_seconds, result.cpu_seconds + second.cpu_seconds,
                          result.passed + second.passed, result.skipped, second.failed)  # fmt: skip
        return result

    def _once(self, step: Step, command: str, log: Path, *, quiet: bool) -> Result:
        step.report.unlink(missing_ok=True)
        began = time.monotonic()
        with log.open("wb") as file:
            process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", command], cwd=ROOT, start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
            self.running.add(process.pid)
            assert process.stdout is not None
            with process.stdout as printed:
                for line in printed:
                    file.write(line)
                    if not quiet:
                        sys.stdout.write(line.decode("utf-8", "replace"))
                        sys.stdout.flush()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.running.discard(process.pid)
        code = STOPPED if self.stopped else process.returncode
        result = Result(step.name, code, time.monotonic() - began, used.ru_utime + used.ru_stime)
        if step.tests:
            read_report(step.report, result)
        return result

    def stop(self, working: Future[None]) -> None:
        """End the steps that run, as Ctrl-C does first, then by force, until this work is done."""
        self.stopped = True
        asked: set[tuple[int, signal.Signals]] = set()
        until = time.monotonic() + GRACE
        while not working.done():
            number = signal.SIGINT if time.monotonic() < until else signal.SIGKILL
            for pid in tuple(self.running):  # a step that was beginning comes later
                if (pid, number) not in asked:
                    asked.add((pid, number))
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, number)
            wait([working], MOMENT)


def _command(step: Step) -> str:
    return f"{step.command} --junitxml={shlex.quote(str(step.report))}" if step.tests else step.command


def read_report(path: Path, result: Result) -> None:
    """Add what pytest reports of each test. A run that wrote no report has none."""
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return
    for case in cases:
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '')}"
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed.append(name)
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1


def performed(steps: Iterable[Step], runner: Runner) -> Iterator[Result]:
    """Run the steps, two at a time where both use one core."""
    for single, group in groupby(steps, key=lambda step: step.single):
        if not single:
            for step in group:
                if runner.stopped:
                    return
                say(f"\n== {step.name}: {step.command}")
                yield runner.run(step, quiet=False)
            continue
        with ThreadPoolExecutor(2) as pool:
            for step, result in pool.map(lambda step: (step, None if runner.stopped else runner.run(step, quiet=True)), list(group)):
                if result is not None:
                    say(f"\n== {step.name}: {step.command}", step.log.read_text("utf-8", "replace").rstrip())
                    yield result


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


def table(results: Sequence[Result]) -> Iterator[str]:
    """A line for each step."""
    yield f"{'step':36}  {'':10}  {'wall s':>7}  {'CPU s':>7}"
    for one in results:
        ended = "passed" if one.code == 0 else "stopped" if one.code == STOPPED else f"FAILED ({one.code})"
        tests = f"  {one.passed:,} passed, {one.skipped:,} skipped, {len(one.failed):,} failed" if one.passed or one.failed else ""
        yield f"{one.name:36}  {ended:10}  {one.wall_seconds:7.0f}  {one.cpu_seconds:7.0f}{tests}"
    yield f"{'all':36}  {'':10}  {'':7}  {sum(one.cpu_seconds for one in results):7.0f}"


def record(results: Sequence[Result], wall: float) -> dict[str, Any]:
    """The results as JSON, with the commit and the machine."""
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    machine = {"architecture": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    return {"commit": git.stdout.strip(), "machine": machine, "wall_seconds": wall, "steps": [asdict(one) for one in results]}


def changes(before: Mapping[str, Any], results: Sequence[Result]) -> Iterator[str]:
    """What is different from recorded results, a line for each difference."""
    known = {one["name"]: Result(**one) for one in before["steps"]}
    for one in results:
        if (old := known.get(one.name)) is None:
            yield f"{one.name}: was not recorded"
            continue
        if (one.code == 0) != (old.code == 0):
            yield f"{one.name}: exit code {old.code} before, {one.code} now"
        yield from (f"{one.name}: fails now: {name}" for name in one.failed if name not in old.failed)
        yield from (f"{one.name}: failed before: {name}" for name in old.failed if name not in one.failed)
        if one.passed < old.passed:
            yield f"{one.name}: {old.passed:,} tests passed before, {one.passed:,} now"
        if one.cpu_seconds > SLOWER * old.cpu_seconds:
            yield f"{one.name}: {old.cpu_seconds:.0f} CPU s before, {one.cpu_seconds:.0f} now"


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f".ci/{words[0]}" if words else None, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tier", choices=("run", "nightly"), help=argparse.SUPPRESS)
    parser.add_argument("steps", nargs="*", metavar="STEP", help="only these steps")
    parser.add_argument("--list", action="store_true", help="list the steps with their commands, and run none")
    if words[:1] == ["nightly"]:
        parser.add_argument("--resume", action="store_true", help="leave out the steps that ended in the last run on this commit")
        parser.add_argument("--record", action="store_true", help="keep the results in .ci/nightly.json, to compare later runs with")
    given = parser.parse_args(words)
    known = [step.name for step in {"run": RUN, "nightly": NIGHTLY}[given.tier]]
    if unknown := [name for name in given.steps if name not in known]:
        parser.error(f"there is no step {unknown[0]!r}; there are: {', '.join(known)}")
    return given


def main(words: Sequence[str]) -> int:
    given = arguments(words)
    steps = [step for step in (RUN if given.tier == "run" else NIGHTLY) if not given.steps or step.name in given.steps]
    if given.list:
        say(*(f"{step.name:36}  {step.command}" for step in steps))
        return 0
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / f"{given.tier}.json"
    results = resumed(file) if given.tier == "nightly" and given.resume else []
    left = [step for step in steps if step.name not in {one.name for one in results}]
    began = time.monotonic()
    each(left, results, lambda: file.write_text(json.dumps(record(results, time.monotonic() - began), indent=1) + "\n"))
    say("", *table(results), f"wall: {(time.monotonic() - began) / 60:.1f} minutes")
    if given.tier == "nightly":
        if RECORD.is_file():
            say("", f"since the run recorded in {RECORD.relative_to(ROOT)}:")
            say(*(list(changes(json.loads(RECORD.read_text()), results)) or ["nothing changed"]))
        if given.record:
            RECORD.write_text(file.read_text())
    codes = {one.code for one in results}
    return STOPPED if STOPPED in codes or len(results) < len(steps) else int(codes != {0})


def each(steps: Sequence[Step], results: list[Result], keep: Callable[[], object]) -> None:
    """Run the steps and keep the results after each; Ctrl-C and SIGTERM end it."""
    runner = Runner()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ThreadPoolExecutor(1) as pool:

        def work() -> None:
            for result in performed(steps, runner):
                results.append(result)
                keep()

        working = pool.submit(work)
        try:
            while not working.done():
                wait([working], MOMENT)  # a signal that another thread receives does not end a wait
        except KeyboardInterrupt:
            runner.stop(working)
        working.result()


def resumed(file: Path) -> list[Result]:
    """Results of steps that ended in the last run, if that was on this commit."""
    try:
        known = json.loads(file.read_text())
    except (OSError, ValueError):
        return []
    if known["commit"] != record([], 0.0)["commit"]:
        return []
    return [one for one in (Result(**step) for step in known["steps"]) if one.code != STOPPED]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
