"""More commands about witnesses: compare two, or write one as a test."""

from __future__ import annotations

from ..reports import output
from ..reports.choices import InputError
from ..reports.exitcode import OK, exit_code
from .common import Count, Json, write


def diff(first: str, second: str, /, *, width: Count | None = None, json: Json = None) -> int:
    """Compare two witnesses of one model: their common steps, the step at which they diverge, and how their final states differ.

    Exit code 0: they are equal. 1: they differ.

    Parameters
    ----------
    first
        A witness file that `rocketproof check` has written.
    second
        A witness file of the same model and scope. Its constants may differ, as for another profile.
    width
        Columns of the output. Default: the terminal's width.
    json
        Write the comparison to this file.
    """
    from rocketproof_traces.witness import diff as comparing

    from ..reports.output import Output
    from .checks import witnessfiles

    comparison = comparing.compare(witnessfiles.load(first), witnessfiles.load(second))
    write(json, comparison.data())
    comparing.render(comparison, first, second, Output(width))
    return exit_code(findings=not comparison.equal, undecided=False)


def to_test(witness: str, /) -> int:
    """Print a witness, or a recorded program, as a pytest file.

    The test takes a witness's steps on the model, and on the implementation if the model is the specification. A recorded program is
    performed on a target. The test needs only `import rocketproof`. It fails when a guard, an effect or the property changes so that
    the steps no longer show the same: rocketproof to-test WITNESS > test_it.py

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written, or the history of a program that `validate` has recorded. The test performs the
        program on ROCKETPROOF_TARGET, by default the implementation. A program of messages that is already a test is printed unchanged.
    """
    from .checks import witnessfiles

    if witness.endswith(".py"):
        text = witnessfiles.read_program(witness)
        if "def test_" not in text:
            raise InputError(f"{witness} is no test; give the history of its program, such as one in `histories` of the report's folder")
        output.write(text)
        return OK
    from rocketproof_traces.history import is_history

    if is_history(witness):
        from .library.totest import history_as_test

        output.write(history_as_test(witness))
        return OK
    from .library.totest import as_test

    output.write(as_test(*witnessfiles.load_with_source(witness)))
    return OK
