"""Run programs on a target and keep their histories.

Configurations that need the same settings at the start share brokers. Only one target is used at a time; the next one may start meanwhile.

Programs with sizes at the limits run last and one after another. A release may stop serving messages that it stores after such a message.
The next program then runs on a new target.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.numbers import java_int

from ...brokers.deployment import Deployment, ValidationTarget, setup_of
from ...brokers.runs.configured import configured
from ...brokers.runs.parsed import load
from ...brokers.runs.runner import Bounds, Runner
from ...brokers.staging import in_turn
from ...programs.program import Program
from ...programs.selections import EDGES
from ...programs.settings import ALONE, stages, while_running
from ...reports.results import tool
from ..stages import looks
from ..validate import mark as new_mark
from .switching import RecordedProgram

Progress = Callable[[str, int, int], None]
_CANARY: Final = Program(0, "canary", (("send", {"topic": "canary"}),))


@dataclass(kw_only=True)
class ReleaseRun:
    """The data on a run in a report about releases.

    `compared`: number of programs that could be compared. `stopped`: the reason of an early end.
    """

    seed: int
    began: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    programs: int = 0
    compared: int = 0
    requests: int = 0
    seconds: float = 0.0
    stopped: str = ""

    def record(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"tool": tool(), **{item.name: getattr(self, item.name) for item in fields(ReleaseRun)}, "seconds": round(self.seconds, 1)}

    @property
    def size(self) -> str:
        """The size of the run as a sentence."""
        return f"{self.programs} programs, {self.compared} of them compared, {self.requests:,} requests, {self.seconds:.0f} s"


class Stage:
    """A target that runs only while it is used.

    `folder` gets the histories. Names of programs begin with `mark`. Two targets with equal marks and programs have equal names.
    """

    def __init__(self, target: ValidationTarget, folder: Path, seed: int, bounds: Bounds, mark: str | None = None) -> None:
        self.target, self.folder, self.bounds = target, folder, bounds
        self._mark = mark or new_mark()
        self._seed = seed
        folder.mkdir(parents=True, exist_ok=True)

    def record(self, programs: Sequence[Program], progress: Progress = lambda what, done, all_: None) -> dict[int, RecordedProgram]:
        """Run the programs and return their histories, by the unique number of the program. Programs for which no time was left are
        missing.

        Raises TargetError.
        """
        recorded: dict[int, RecordedProgram] = {}

        def done(program: Program, path: Path) -> None:
            recorded[program.number] = RecordedProgram.read(path)
            progress(f"{self.target.name}: program", len(recorded), len(programs))

        for runner, group in self.runners([program_ for program_ in programs if program_.source != EDGES]):
            alone = [program_ for program_ in group if program_.needs == ALONE or looks(program_)]
            runner.run([program_ for program_ in group if program_ not in alone], done)
            runner.run(alone, done, workers=1)
        edges = [program_ for program_ in programs if program_.source == EDGES]
        while edges and not self.bounds.over:
            with self.target.open() as running, self._runner(running, "") as runner:
                while edges and not self.bounds.over:
                    program = edges.pop(0)
                    done(program, runner.perform(program))
                    if not serves(runner):
                        break
        return recorded

    def runners(self, programs: Sequence[Program]) -> Iterator[tuple[Runner, list[Program]]]:
        """Yield a runner for the programs of each configuration. A runner is closed when the iteration continues."""
        groups: dict[str, list[Program]] = {}
        for program in programs:
            groups.setdefault(program.needs, []).append(program)
        staged = stages(groups)
        setups = [setup_of(stage[0]) for stage in staged]
        with closing(in_turn(self.target, setups)) as targets:
            for stage, running in zip(staged, targets, strict=False):
                for needs in stage:
                    with self._runner(running, needs) as runner:
                        yield runner, groups[needs]
                    if self.bounds.over:
                        return

    @contextmanager
    def _runner(self, running: Deployment, needs: str) -> Iterator[Runner]:
        settings = while_running(needs)
        origin = {
            "target": {"name": self.target.name, "version": self.target.version},
            "profile": self.target.profile,
            "seed": self._seed,
        }
        with configured(running, settings):
            runner = Runner(
                running, self.folder, origin, self.bounds, self._mark, settings or None, itertools.count(self._next()), clean=True
            )
            try:
                yield runner
            finally:
                runner.close()

    def _next(self) -> int:
        """Return the number of the next history."""
        return 1 + max((java_int(path.stem) or 0 for path in self.folder.glob("*.ndjson")), default=0)


def serves(runner: Runner) -> bool:
    """Send a message, and return whether the broker accepts it and adds it to a queue."""
    with tempfile.TemporaryDirectory(prefix="rocketproof-") as folder:
        history = load(runner.perform(_CANARY, Path(folder)))
    counted = history.states.get("queues", {}).get("queues", ())
    return any(exchange.code == 0 for exchange in history.exchanges) and any(end for _, _, end, *_ in counted)
