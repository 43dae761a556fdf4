"""The command line. Exit codes: 0 all as expected; 1 a verdict differs; 2 wrong usage or input; 3 stopped before a decision.

The other modules of this package only declare commands, one group each. A command imports what it needs when it runs, so that `--help` and
usage errors are printed at once.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import zip_longest
from typing import Annotated, Final

from cyclopts import App, CycloptsError, Group, Parameter, ValidationError

from rocketproof_model import RocketproofError, interrupts

from ..reports import output
from ..reports.choices import InputError
from ..reports.exitcode import OK, STOPPED, USAGE
from ..reports.files import STREAM, remedy
from . import (
    agents,
    brokers,
    checking,
    data,
    documents,
    exploring,
    handwritten,
    implementation,
    listing,
    promising,
    releases,
    starting,
    validating,
    witnesses,
    zoo,
)
from . import audit as audits
from .common import INVOKED

DEVELOPMENT: Final = "Development"
GROUPS: Final[Mapping[str, tuple[Callable[..., int], ...]]] = {
    "Understand": (
        implementation.hazard,
        exploring.explore,
        checking.show,
        checking.explain,
        promising.promises,
        listing.list_,
        documents.docs,
        agents.mcp,
    ),
    "Check": (checking.check, implementation.run_tests, checking.certificate, data.campaign),
    "Validate a broker": (validating.validate, validating.level, validating.compare, releases.profile, brokers.serve, starting.init),
    "Decide a bug report": (handwritten.run_program, handwritten.bisect),
    "Data": (audits.audit, data.judge),
    "Witnesses": (witnesses.diff, witnesses.to_test, implementation.replay, checking.picture, checking.graph, checking.export),
    DEVELOPMENT: (zoo.zoo,),
}
"""The commands by the purpose for which someone looks them up. Those of `DEVELOPMENT` are hidden where the package is installed."""
NAMES: Final = {"run_tests": "test", "list_": "list", "run_program": "run"}
"""Commands whose function has another name: pytest takes a function `test` for a test, `list` is Python's, and `run` runs a command."""

LAB: Final[Mapping[str, tuple[str, str]]] = {
    "mutate": ("commands:mutate", "Change the implementation or the specification in small ways and see what notices each change."),
    "requirements": ("commands:requirements", "Show for every rule where it is implemented and which tests passed for it."),
    "bench": ("bench.commands:app", "Measure the engines."),
}
"""The commands that exist only in a clone, each with its place in `rocketproof_lab` and its help."""
FIRST_STEPS: Final = (
    ("rocketproof check", "decide all properties of the specification, in about a minute"),
    ("rocketproof hazard HAZ-03", "run a known surprise of RocketMQ on a simulated cluster"),
    ("rocketproof explore", "walk through counterexamples in a browser"),
    ("rocketproof validate --target served", "validate a broker, here the reference implementation"),
    ("rocketproof audit FOLDER", "audit the store of a broker"),
)
"""What `rocketproof` without arguments offers."""
STREAMS = (("certificate", "smt2"), ("explore", "html"), ("graph", "output"))
"""Options other than --json whose file may be standard output."""
EXTRAS: Final[Mapping[str, str]] = {"mcp": "mcp", "pyarrow": "tables", "pandas": "spark", "pyspark": "spark"}
"""Packages that some options need, each with the extra of rocketproof that installs it."""
_FOLDERS = ("out", "parquet", "report")
"""Options that name a folder. Some are typed as text, because the folder may be remote."""


def _version() -> str:
    from importlib.metadata import version

    return version("rocketproof")


app = App(
    name="rocketproof",
    help="A model checker, conformance suite and reference broker for RocketMQ's send and store path. It also checks models of your own.",
    help_epilogue="Exit codes: 0 all as expected; 1 a verdict differs or a finding; 2 wrong usage or input; 3 stopped before a decision. "
    "Options of a command: rocketproof COMMAND --help. Pages: rocketproof docs",
    version=_version,
    version_flags=["--version"],
    version_format="plaintext",  # the others import a renderer of Markdown
    suppress_keyboard_interrupt=False,
    console=output.Output(),
)
_IN_A_CLONE: Final = find_spec("rocketproof_lab") is not None
_groups = {title: Group(title, sort_key=number) for number, title in enumerate(GROUPS)}
for _title, _commands in GROUPS.items():
    for _command in _commands:
        _shown = _IN_A_CLONE or _title != DEVELOPMENT
        app.command(_command, name=NAMES.get(_command.__name__, _command.__name__.replace("_", "-")), group=_groups[_title], show=_shown)
_other = Group("Other", sort_key=len(GROUPS))
_completion: Final = f"{__package__}.completion:install"  # imported when it runs
app.command(_completion, name="--install-completion", help="Install shell completion for this application.", group=_other)
app["--help"].group = app["--version"].group = (_other,)


def first_steps() -> int:
    """Print five commands to try first."""
    page = output.Page()
    page.line("rocketproof: a model checker, conformance suite and reference broker for RocketMQ's send and store path")
    page.line("\nFive things to try:")
    page.table(output.TableRow((command,), meaning) for command, meaning in FIRST_STEPS)
    page.line("\nAll commands: rocketproof --help. Pages: rocketproof docs")
    return OK


def _only_in_a_clone(name: str) -> Callable[..., int]:
    """Return a command that fails with the message that `name` needs a clone of the project."""

    def refuse(*tokens: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
        raise InputError(f"{name} works in a clone of the project only: it is not installed with rocketproof")

    return refuse


for _name, (_place, _help) in LAB.items():
    if _IN_A_CLONE:
        app.command(f"rocketproof_lab.{_place}", name=_name, help=_help, group=_groups[DEVELOPMENT])  # imported when it runs
    else:
        app.command(_only_in_a_clone(_name), name=_name, help=f"{_help} (In a clone of the project.)", show=False)


def run(tokens: Sequence[str]) -> int:
    """Run one command and return its exit code. Every usage error is one line on stderr."""
    tokens = with_values(tokens)
    INVOKED.set(shlex.join(["rocketproof", *tokens]))
    output.release_stdout()
    interrupts.undecided()
    if not tokens:
        return first_steps()
    try:
        command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
        _refuse_streams(command.__name__, bound.arguments)
        code = command(*bound.args, **bound.kwargs)
        output.write("")
        return code if isinstance(code, int) else OK
    except ValidationError as error:
        return _refuse(f"{error.argument.name if error.argument else ''} {error.exception_message}".strip())
    except CycloptsError as error:
        return _refuse(f"{' '.join(str(error).split())} See: {_help_for(tokens)}")
    except RocketproofError as error:
        return _refuse(" ".join(str(error).split()))
    except BrokenPipeError:
        # The reader of standard output has closed it (`| head`).
        output.nobody_listens()
        return OK
    except OSError as error:
        return _refuse(_unwritten(error))
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        install = f"`pip install 'rocketproof[{EXTRAS[package]}]'` (in a clone `uv run --extra {EXTRAS[package]} rocketproof ...`)"
        return _refuse(f"{package} is not installed, which this needs: {install}")
    except (KeyboardInterrupt, Exception) as error:
        if not interrupts.caused(error):
            raise
        interrupts.heard()
        output.tell("rocketproof: stopped by Ctrl-C before anything was decided")
        return STOPPED
    finally:
        output.release_stdout()


def with_values(tokens: Sequence[str]) -> list[str]:
    """Return the arguments with `-` after an option joined to it as its value. Otherwise it would be parsed as an option.

    `--json` without a value means `--json -`.
    """
    joined: list[str] = []
    for token, following in zip_longest(tokens, tokens[1:], fillvalue="--"):
        if token == "--json" and following.startswith("--"):
            joined.append("--json=-")
        elif token == "-" and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += "=-"
        else:
            joined.append(token)
    return joined


def _refuse_streams(command: str, arguments: Mapping[str, object]) -> None:
    """Raise InputError for `-` as a file or folder that cannot be standard output, before a file of that name is written."""
    for name, value in arguments.items():
        values = value if isinstance(value, tuple) else (value,)
        if (STREAM in values or (name in _FOLDERS and str(STREAM) in values)) and name != "json" and (command, name) not in STREAMS:
            option = {"pages": "html"}.get(name, name.replace("_", "-"))
            raise InputError(f"--{option} -: takes a file or folder and not standard input or output; give its name")


def _unwritten(error: OSError) -> str:
    """Return the message for an error of the system that no command handles, most often a full disk."""
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}; {remedy(error, 'files')}"


def _refuse(message: str) -> int:
    output.tell(f"rocketproof: {message}")
    return USAGE


def _help_for(tokens: Sequence[str]) -> str:
    names = [t for t in tokens[:1] if t in {name for name in app if not name.startswith("-")}]
    return " ".join(["rocketproof", *names, "--help"])
