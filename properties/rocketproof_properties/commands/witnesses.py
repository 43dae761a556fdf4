"""Commands about witnesses beside those that show one: two compared, one as a test."""

from __future__ import annotations

from ..reports import output
from ..reports.choices import InputError
from ..reports.exitcode import OK, exit_code
from .common import Count, Json, write


def diff(first: str, second: str, /, *, width: Count | None = None, json: Json = None) -> int:
    """Compare two witnesses of one model: what they share, where they part and what each does there, and how their ends differ.

    Exits with 0 if they are the same, with 1 if they differ.

    Parameters
    ----------
    first
        A witness file that `rocketproof check` has written.
    second
        Another one of the same model and scope; its constants may be others, such as those of another profile.
    width
        Columns to print in, instead of the terminal's.
    json
        Write the comparison to this file.
    """
    from rocketproof_traces.witness import diff as comparing

    from ..reports.output import Output
    from .checks import witnessfiles

    found = comparing.compare(witnessfiles.load(first), witnessfiles.load(second))
    write(json, found.data())
    comparing.render(found, first, second, Output(width))
    return exit_code(findings=not found.equal, undecided=False)


def to_test(witness: str, /) -> int:
    """Print a witness, or a recorded program, as a pytest file.

    It takes a witness's steps on the model, and on the implementation if the model is the specification; a recorded program it performs
    on a target. It needs nothing but `import rocketproof`, passes today, and fails when a guard, an effect or the property changes so that
    the steps do not show the same any more: rocketproof to-test WITNESS > test_it.py

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written; or the history of a program that `validate` has recorded, which is performed
        anew on ROCKETPROOF_TARGET, the implementation unless given. A program of messages that is a test already is printed as it is.
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
