"""The options of the pytest plugin: from the command line, else from environment variables, else from pytest's configuration.

This module imports nothing heavy, so that errors are reported before collection.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

import pytest

from rocketproof_protocol.numbers import java_long, whole_number

from ...brokers.forms import form_of, is_address, parts_of, profile_named

if TYPE_CHECKING:
    from ..accept import Accepted

When = Literal["auto", "always", "never"]
_WHEN: Final[tuple[When, ...]] = ("auto", "always", "never")
_KINDS: Final = "the address of a broker or name server such as 127.0.0.1:10911, or apache:4.9.4, served, inprocess, FILE.toml"


@dataclass(frozen=True)
class Option:
    """An option with its three names, such as --rocketproof-name, rocketproof_name, ROCKETPROOF_NAME. `name` is the last part.

    `about` is the first part: `rocketproof` for the suite, `rocketmq` for the fixture of that name.
    """

    name: str
    metavar: str
    help: str
    about: str = "rocketproof"

    @property
    def flag(self) -> str:
        return f"--{self.about}-{self.name}"

    @property
    def ini(self) -> str:
        return f"{self.about}_{self.name}"

    @property
    def variable(self) -> str:
        return self.ini.upper()

    def given(self, config: pytest.Config) -> tuple[str, str]:
        """Return its text and the source of the text; two empty texts if it is not set."""
        typed = config.getoption(self.ini)
        if typed is not None:
            return str(typed), self.flag
        if os.environ.get(self.variable, ""):
            return os.environ[self.variable], self.variable
        text = str(config.getini(self.ini) or "")
        return text, f"{self.ini} in {config.inipath.name if config.inipath else 'the configuration'}" if text else ""


TARGET: Final = Option("target", "TARGET", f"what to judge: {_KINDS}")
PROFILE: Final = Option("profile", "NAME", "the profile that the target is judged by, such as P494 for RocketMQ 4.9.4")
NAME_SERVER: Final = Option("nameserver", "ADDRESS", "the name server of a broker that is given by its address")
PROGRAMS: Final = Option("programs", "N", "how many programs the suite performs on the target (200)")
SEED: Final = Option("seed", "N", "the seed of the programs (0)")
TIME: Final = Option("time", "SECONDS", "begin no program after so many seconds")
STATES: Final = Option("states", "N", "how many states the judge expands in each part of a program before it gives that up (100000)")
ACCEPT: Final = Option("accept", "FILE", "a TOML file of differences that are accepted, as for `rocketproof validate --accept`")
REPORT: Final = Option("report", "DIR", "the folder of the suite's run, new or empty (.rocketproof/suite with a number)")
STORE: Final = Option("store", "DIR", "the store's folder of a broker that is given by its address, whose files are judged at the end")
SUITE: Final = Option(
    "suite",
    "WHEN",
    "collect the catalogue: always, never, or auto: with a target, unless paths are named or a collected test uses the target (auto)",
)
CLUSTER_TARGET: Final = Option(
    "target",
    "TARGET",
    "run the tests that use the fixture `rocketmq` on this target, such as 4.9.4 (reference brokers in this process)",
    "rocketmq",
)
CLUSTER_PROFILE: Final = Option("profile", "NAME", "the profile of the fixture `rocketmq` (P494, or that of the release)", "rocketmq")
ALL: Final = (TARGET, PROFILE, NAME_SERVER, PROGRAMS, SEED, TIME, STATES, ACCEPT, REPORT, STORE, SUITE, CLUSTER_TARGET, CLUSTER_PROFILE)


@dataclass(frozen=True)
class Options:
    """The values of all options.

    - `target`: "" if there is none. `seconds`: None means no limit. `states`: None means the default.
    - `exit_first`: end the run after the first program with a finding, as pytest's --exitfirst requests.
    - `cluster_target`, `cluster_profile`: of the fixture `rocketmq`; "" and None for its defaults.
    """

    target: str = ""
    profile: str | None = None
    name_server: str | None = None
    programs: int = 200
    seed: int = 0
    seconds: float | None = None
    accept: Path | None = None
    report: Path | None = None
    store: Path | None = None
    suite: When = "auto"
    states: int | None = None
    exit_first: bool = False
    cluster_target: str = ""
    cluster_profile: str | None = None

    @property
    def address(self) -> bool:
        """Whether the target is a running broker, given by its address."""
        return is_address(self.target)

    def accepted(self) -> tuple[Accepted, ...]:
        """Return the accepted differences. Raises InputError."""
        from .. import accept

        return () if self.accept is None else accept.read(self.accept, ACCEPT.flag)


def read(config: pytest.Config) -> Options:
    """Return all options. Raises pytest.UsageError with one line that names the wrong option and what to give."""
    target, where = TARGET.given(config)
    cluster, cluster_where = CLUSTER_TARGET.given(config)
    options = Options(
        target,
        _profile(config, PROFILE),
        _text(config, NAME_SERVER, "give an address such as 127.0.0.1:9876", is_address),
        whole_number(_text(config, PROGRAMS, "give a number such as 200", _is_count) or Options.programs),
        whole_number(_text(config, SEED, "give a whole number", lambda text: java_long(text) is not None) or Options.seed),
        _seconds(config),
        _path(config, ACCEPT),
        _path(config, REPORT),
        _path(config, STORE),
        cast(When, _text(config, SUITE, f"give {', '.join(_WHEN)}", lambda text: text in _WHEN) or Options.suite),
        whole_number(states) if (states := _text(config, STATES, "give a number such as 1000000", _is_count)) else None,
        config.getoption("maxfail", 0) == 1,
        cluster,
        _profile(config, CLUSTER_PROFILE),
    )
    _check_target(target, where, config.invocation_params.dir)
    _check_target(cluster, cluster_where, config.invocation_params.dir)
    return options


def check(options: Options) -> None:
    """Check the files and folders that the options name. Raises pytest.UsageError."""
    from ...reports.choices import InputError

    try:
        options.accepted()
    except InputError as error:
        raise pytest.UsageError(f"{error}") from None
    if options.store is not None and not (options.store / "commitlog").is_dir():
        raise _usage_error(STORE.flag, str(options.store), "give a store's folder, the one that has commitlog in it")
    if options.store is not None and not options.address:
        raise _usage_error(STORE.flag, str(options.store), "the files of brokers that the suite starts are judged anyway: leave it out")
    folder = options.report
    if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise _usage_error(REPORT.flag, str(folder), "it exists and is not empty: give a new folder")


def _usage_error(where: str, given: str, remedy: str) -> pytest.UsageError:
    return pytest.UsageError(f"{where} {given}: {remedy}")


def _check_target(target: str, where: str, folder: Path) -> None:
    form = form_of(target)
    if target and form is None:
        raise _usage_error(where, target, f"give {_KINDS}")
    if form is not None and form.kind == "pair":
        try:
            parts_of(target)
        except ValueError as problem:
            raise _usage_error(where, target, str(problem)) from None
    if form is not None and form.kind == "file" and not (folder / target).is_file():
        raise _usage_error(where, target, "there is no such file")


def _text(config: pytest.Config, option: Option, remedy: str, fits: Callable[[str], bool]) -> str | None:
    text, where = option.given(config)
    if text and not fits(text):
        raise _usage_error(where, text, remedy)
    return text or None


def _profile(config: pytest.Config, option: Option) -> str | None:
    text, where = option.given(config)
    if not text:
        return None
    from ...reports.choices import InputError

    try:
        return profile_named(text)
    except InputError as error:
        raise pytest.UsageError(f"{where}: {error}") from None


def _is_count(text: str) -> bool:
    return (java_long(text) or 0) > 0


def _seconds(config: pytest.Config) -> float | None:
    text, where = TIME.given(config)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise _usage_error(where, text, "give a number of seconds above 0")
    return seconds


def _path(config: pytest.Config, option: Option) -> Path | None:
    """Return a path. It is relative to the working directory, or to the folder of the configuration file that sets it."""
    text, where = option.given(config)
    if not text:
        return None
    base = config.inipath.parent if config.inipath is not None and where.startswith(option.ini) else config.invocation_params.dir
    return base / text
