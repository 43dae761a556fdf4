"""One program on a broker, by hand: what the programs that a report keeps do when they are run."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocketproof_model import RocketproofError

from ..deployments.address import AddressTarget
from ..generators.programs import Program
from ..judging.judging import Judge, judge_file
from ..runs.runner import Bounds, Runner
from ..steps.vocabulary import Step
from .validate import mark


def run(steps: Sequence[tuple[str, Mapping[str, Any]]], address: str, name_server: str | None, *, judge: Judge, profile: str) -> list[str]:
    """Perform the steps on the broker at an address; what the judge says of each property, "property: text"."""
    done: list[Step] = [(name, dict(args)) for name, args in steps]
    with AddressTarget([address], profile=profile).open() as running, tempfile.TemporaryDirectory() as folder:
        running.name_server = name_server or running.name_server
        runner = Runner(running, Path(folder), {"profile": profile}, Bounds(1), mark())
        try:
            path = runner.perform(Program(0, "", tuple(done)))
        finally:
            runner.close()
        judged = judge_file(path, profile, (judge,))
        return [f"{one.property}: {one.text}" for one in (*judged.verdicts, *judged.unconfirmed)]


def main(
    steps: Sequence[tuple[str, Mapping[str, Any]]], *, judge: Judge, property: str, profile: str, needs: str = "", argv: Sequence[str] = ()
) -> None:
    """`python finding-1.py BROKER [NAME_SERVER]`: exit code 1 if the finding comes, 0 if not, 2 where nobody can be asked."""
    given = list(argv or sys.argv[1:])
    if not 1 <= len(given) <= 2:
        sys.stderr.write("give the address of a broker and, if routes are asked for, of its name server: 127.0.0.1:10911 127.0.0.1:9876\n")
        sys.exit(2)
    if needs:
        sys.stderr.write(f"this program needs a broker with {needs}\n")
    try:
        lines = run(steps, given[0], given[1] if len(given) == 2 else None, judge=judge, profile=profile)
    except RocketproofError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    mine = [line for line in lines if line.startswith(f"{property}: ")]
    sys.stdout.write("\n".join(mine or [f"{property}: as described"]) + "\n")
    sys.exit(1 if mine else 0)
