"""Run one program on a broker. The programs in a report's folder use this module."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocketproof_model import RocketproofError

from ..brokers.address import AddressTarget
from ..brokers.runs.runner import Bounds, Runner
from ..judging.judging import judge_file
from ..judging.verdicts import Judge, JudgedProgram
from ..programs.program import Program
from ..programs.vocabulary import Step
from ..reports.exitcode import USAGE, exit_code
from .validate import mark


def run(
    steps: Sequence[tuple[str, Mapping[str, Any]]], address: str, name_server: str | None, *, judge: Judge, profile: str
) -> JudgedProgram:
    """Perform the steps on the broker at an address, and judge its responses."""
    done: list[Step] = [(name, dict(args)) for name, args in steps]
    with AddressTarget([address], profile=profile).open() as running, tempfile.TemporaryDirectory() as folder:
        running.name_server = name_server or running.name_server
        runner = Runner(running, Path(folder), {"profile": profile}, Bounds(1), mark())
        try:
            path = runner.perform(Program(0, "", tuple(done)))
        finally:
            runner.close()
        return judge_file(path, profile, (judge,))


def main(
    steps: Sequence[tuple[str, Mapping[str, Any]]], *, judge: Judge, property: str, profile: str, needs: str = "", argv: Sequence[str] = ()
) -> None:
    """`python finding-1.py BROKER [NAME_SERVER]`: exit code 1 if the finding is reproduced, 0 if not, 2 if the broker cannot be reached, 3
    if the judge left it open.
    """
    arguments = list(argv or sys.argv[1:])
    if not 1 <= len(arguments) <= 2:
        sys.stderr.write("give the address of a broker and, if routes are asked for, of its name server: 127.0.0.1:10911 127.0.0.1:9876\n")
        sys.exit(USAGE)
    if needs:
        sys.stderr.write(f"this program needs a broker with {needs}\n")
    try:
        judged = run(steps, arguments[0], arguments[1] if len(arguments) == 2 else None, judge=judge, profile=profile)
    except RocketproofError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(USAGE)
    reproduced = [f"{property}: {item.text}" for item in (*judged.deviations, *judged.unconfirmed) if item.property == property]
    open_ = [f"{property}: not decided: {item}" for item in (*judged.unknown, *judged.faults) if not judged.decides(judge)]
    sys.stdout.write("\n".join(reproduced or open_ or [f"{property}: as described"]) + "\n")
    sys.exit(exit_code(findings=reproduced, undecided=open_))
