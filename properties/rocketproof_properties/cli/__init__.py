"""The command line. Exit codes: 0 all as expected; 1 a verdict differs; 2 bad usage or input; 3 stopped before a decision.

The modules beside this one only declare commands, a group each. What a command needs is imported when it runs, so that `--help` and
mistakes in the options are answered at once.
"""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, NoReturn

from cyclopts import App, CycloptsError, Parameter, ValidationError

from rocketproof_model import RocketproofError
from rocketproof_protocol.shown import printable

from .. import interruption
from ..choices import InputError
from ..exitcode import OK, STOPPED, USAGE
from . import audits, brokers, checking, data, documents, exploring, implementation, releases, witnesses, zoo
from .common import INVOKED

COMMANDS: tuple[Callable[..., int], ...] = (
    *(checking.check, checking.certificate, checking.show, checking.explain, checking.picture, checking.graph, checking.export),
    *(witnesses.diff, witnesses.to_test),
    exploring.explore,
    *(implementation.replay, implementation.hazard, implementation.mutate, implementation.requirements),
    *(brokers.serve, brokers.validate, releases.profile, zoo.zoo),
    *(data.judge, data.campaign, audits.audit),
    documents.docs,
)


def _version() -> str:
    from importlib.metadata import version

    return version("rocketproof")


app = App(
    name="rocketproof",
    help="Check what RocketMQ's topic creation, routing and append do: a model by search and by z3, an implementation by programs and "
    "recordings; or check a model of your own.",
    help_epilogue="Exit codes: 0 all as expected; 1 a verdict differs or something was found; 2 wrong usage or input; 3 stopped before a "
    "decision. More about each command: rocketproof COMMAND --help",
    version=_version,
    version_flags=["--version"],
    suppress_keyboard_interrupt=False,
)
for _command in COMMANDS:
    app.command(_command)
app.command(implementation.run_tests, name="test")  # pytest and its linters would take a function `test` for one of theirs
if find_spec("rocketproof_bench") is not None:
    app.command(import_module("rocketproof_bench.commands").app)
else:

    @app.command(name="bench", help="Measure the engines (in a clone of the project).")
    def _elsewhere(*tokens: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
        raise InputError("bench measures in a clone of the project only: its benchmarks are not installed with rocketproof")


def main() -> NoReturn:
    """The entry point `rocketproof`. A polite kill, as a CI's time limit sends it, counts as Ctrl-C."""
    signal.signal(signal.SIGTERM, interruption.interrupt)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as in a shell's background
        signal.signal(signal.SIGINT, interruption.interrupt)
        interruption.keep(signal.SIGINT)
    sys.exit(run(sys.argv[1:]))


def run(tokens: Sequence[str]) -> int:
    """Run one command and return its exit code; every mistake of the user's is one line on stderr."""
    tokens = list(tokens)
    INVOKED.set(shlex.join(["rocketproof", *tokens]))
    try:
        code = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except ValidationError as error:
        return _refuse(f"{error.argument.name if error.argument else ''} {error.exception_message}".strip())
    except CycloptsError as error:
        return _refuse(f"{' '.join(str(error).split())} See: {_help_for(tokens)}")
    except RocketproofError as error:
        return _refuse(" ".join(str(error).split()))
    except KeyboardInterrupt:
        print("rocketproof: stopped by Ctrl-C before anything was decided", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        # Somebody has closed our output (`| head`) who wanted text of us, as of `graph`.
        from ..output import nobody_listens

        nobody_listens()
        return OK


def _refuse(message: str) -> int:
    print(f"rocketproof: {printable(message)}", file=sys.stderr)
    return USAGE


def _help_for(tokens: Sequence[str]) -> str:
    names = [t for t in tokens[:1] if t in {name for name in app if not name.startswith("-")}]
    return " ".join(["rocketproof", *names, "--help"])
