"""The suite for other people's CI, and a broker for their own tests.

With `--rocketproof-target` pytest collects the catalogue: one item for each property and rule that programs on a wire can show. A test of
anybody's may send to the target with the fixture `rocketproof_client`, and have what came of it judged with `rocketproof_judge`; where a
collected test does so, or paths are named, the catalogue is only collected if it is asked for.

pytest loads this module by its entry point where the project is installed and by `pytest_plugins` where it is not. Both
give it the same name, so that it is loaded once. Whatever it registers has a name that begins with `rocketproof`, and without a target
nothing else of the project is imported. PYTEST_DONT_REWRITE: there is no assert to explain.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .validation.suite import options as given
from .validation.suite.options import Options

if TYPE_CHECKING:
    from .judging.judging import JudgedProgram
    from .validation.ownprograms import Suite, SuiteClient

NAME = "rocketproof"
_FIXTURES = frozenset({"rocketproof_target", "rocketproof_client", "rocketproof_judge"})
_OPTIONS = pytest.StashKey[Options]()
_CHOSEN = pytest.StashKey[list[str]]()
_PATHS = pytest.StashKey[bool]()
_SCRATCH = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup(NAME, "rocketproof, a suite for RocketMQ brokers")
    for one in given.ALL:
        group.addoption(one.flag, dest=one.ini, metavar=one.metavar, default=None, help=one.help)
        parser.addini(one.ini, f"as {one.flag}", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, and say what is wrong with them before anything is collected.

    Of the arguments those that name the catalogue are taken out: `rocketproof`, `rocketproof::ID`.
    """
    config.addinivalue_line("markers", f"{NAME}: an item of rocketproof's catalogue")
    for kind in ("property", "rule", "specification", "reference", "hazard", "known"):
        config.addinivalue_line("markers", f"{NAME}_{kind}: an item of rocketproof's catalogue, of this kind")
    made = config.stash[_OPTIONS] = given.read(config)
    here = config.invocation_params.dir
    chosen = [one for one in config.args if one == NAME or one.startswith(f"{NAME}::")]
    chosen = [one for one in chosen if not (here / one.partition("::")[0]).exists()]
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if chosen:
        config.args[:] = [one for one in config.args if one not in chosen]
    config.stash[_CHOSEN], config.stash[_PATHS] = chosen, named and bool(config.args)
    wanted = chosen or made.suite == "always"
    if wanted and not made.target:
        raise pytest.UsageError(
            f"{chosen[0] if chosen else given.SUITE.flag}: give a target too, such as {given.TARGET.flag} 127.0.0.1:10911"
        )
    if not made.target:
        return
    begun: dict[str, Any] | None = getattr(config, "workerinput", None)
    if begun is None:
        given.check(made)
        config.stash[_SCRATCH] = Path(tempfile.gettempdir()) / f"{NAME}-suite-{uuid.uuid4().hex}"
    else:
        config.stash[_SCRATCH] = Path(begun["rocketproof_scratch"])


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and _SCRATCH in config.stash:
        shutil.rmtree(config.stash[_SCRATCH], ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist where the processes meet."""
    if _SCRATCH in node.config.stash:
        node.workerinput["rocketproof_scratch"] = str(node.config.stash[_SCRATCH])


def pytest_report_header(config: pytest.Config) -> str | None:
    made = config.stash[_OPTIONS]
    return f"rocketproof: target {made.target}, profile {made.profile or 'its own'}" if made.target else None


# The catalogue


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Collect the catalogue where it is wanted, before -k and -m choose."""
    made, chosen = config.stash[_OPTIONS], config.stash[_CHOSEN]
    if not made.target or not (chosen or _is_wanted(made, items, paths=config.stash[_PATHS])):
        return
    from rocketproof_model import RocketproofError

    from .validation.suite.items import OPTIONS, SCRATCH, Catalogue

    config.stash[OPTIONS], config.stash[SCRATCH] = made, config.stash[_SCRATCH]
    catalogue = Catalogue.from_parent(
        session, name=NAME, nodeid=NAME, wanted=lambda node: not chosen or any(_names(one, node) for one in chosen)
    )
    try:
        items.extend(session.genitems(catalogue))
    except RocketproofError as error:
        raise pytest.UsageError(str(error)) from None


def _is_wanted(made: Options, items: list[pytest.Item], *, paths: bool) -> bool:
    if made.suite != "auto":
        return made.suite == "always"
    return not paths and not any(_FIXTURES.intersection(getattr(item, "fixturenames", ())) for item in items)


def _names(argument: str, node: str) -> bool:
    """Whether an argument names a node: all for `rocketproof`, one by its id, those under all conditions by a property's."""
    return argument == NAME or argument in (node, node.partition("[")[0])


class _Names:
    """Gives the cases of junit.xml names that read: the id and the sentence."""

    def __init__(self, junit: Any) -> None:
        self._junit = junit

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = dict(report.user_properties)
        if f"{NAME}_id" in told:
            self._junit.node_reporter(report).add_attribute("name", f"{told[f'{NAME}_id']} {told[f'{NAME}_sentence']}")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse names of items that there are not, which no worker of xdist could say."""
    config = session.config
    if any(one != NAME for one in config.stash[_CHOSEN]) and not hasattr(config, "workerinput"):
        from .reports.choices import offer
        from .validation.suite.shared import entries_of, target_of

        options = config.stash[_OPTIONS]
        ids = [one.id for one in entries_of(target_of(options), options)]
        for one in config.stash[_CHOSEN]:
            if not any(_names(one, f"{NAME}::{id_}") for id_ in ids):
                raise pytest.UsageError(f"{one}: there is no such item; {offer(one.removeprefix(f'{NAME}::'), ids)}")
    writers = [one for one in session.config.pluginmanager.get_plugins() if hasattr(one, "node_reporter")]
    for one in writers:  # pytest's own, where --junitxml is given
        session.config.pluginmanager.register(_Names(one))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """An item of the catalogue that is skipped is so at its own place, not at a line of this project."""
    report = yield
    if item.nodeid.startswith(f"{NAME}::") and report.skipped and isinstance(report.longrepr, tuple):
        report.longrepr = (item.nodeid, None, report.longrepr[2])  # type: ignore[assignment]  # a line is not known
    return report


def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Say where it was a known violation that was seen."""
    if not isinstance(report, pytest.TestReport) or not report.nodeid.startswith(f"{NAME}::"):
        return None
    told = dict(report.user_properties)
    if report.when == "call" and report.passed and told.get(f"{NAME}_expected") == "violated":
        return "passed", ".", ("VIOLATED AS EXPECTED", {"green": True})
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _SCRATCH not in config.stash or not config.stash[_SCRATCH].exists():
        return
    from .validation.suite.shared import known

    found = known(config.stash[_SCRATCH])
    if found is None or found.error:
        return
    terminalreporter.section("rocketproof", sep="-")
    terminalreporter.write_line(found.summary)
    for line in (*found.notes, *([f"stopped: {found.stopped}"] if found.stopped else []), *filter(None, [found.undecided])):
        terminalreporter.write_line(line, yellow=True)
    terminalreporter.write_line(f"histories and report: {found.folder}")


# A target for anybody's tests


@pytest.fixture(scope="session")
def rocketproof_target(request: pytest.FixtureRequest) -> str:
    """The target that the tests were given; they are skipped without one."""
    made = request.config.stash[_OPTIONS]
    if not made.target:
        pytest.skip(f"no broker: give one with {given.TARGET.flag}, such as 127.0.0.1:10911 or apache:4.9.4")
    return made.target


@pytest.fixture(scope="session")
def _rocketproof_suite(
    rocketproof_target: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Suite | str, None, None]:
    """The target, set up for the session, or why it is none."""
    from rocketproof_model import RocketproofError

    from .validation.ownprograms import Suite
    from .validation.suite.shared import target_of

    made = request.config.stash[_OPTIONS]
    try:
        target = target_of(made)
        running = target.open()
    except RocketproofError as error:
        yield f"{given.TARGET.flag} {rocketproof_target}: {error}"
        return
    with running:
        suite = Suite(running, target.profile, tmp_path_factory.mktemp(NAME), made.name_server)
        yield suite
        suite.close()


@pytest.fixture
def rocketproof_client(_rocketproof_suite: Suite | str, request: pytest.FixtureRequest) -> Generator[SuiteClient, None, None]:
    """A client of the target: what it sends and gets is recorded, under names of topics and groups that no other test has.

    Where there is no target to send to, one test says so and the others are skipped.
    """
    if isinstance(_rocketproof_suite, str):
        from .validation.suite.shared import is_first_to_tell

        if is_first_to_tell(request.config.stash[_SCRATCH]):
            pytest.fail(_rocketproof_suite, pytrace=False)
        pytest.skip(_rocketproof_suite)
    client = _rocketproof_suite.client()
    yield client
    client.finish()


@pytest.fixture
def rocketproof_judge(_rocketproof_suite: Suite, rocketproof_client: SuiteClient) -> Callable[..., JudgedProgram]:
    """Judges what the client of this test has seen; call it at the end of the test."""

    def judge(accept: Collection[str] = ()) -> JudgedProgram:
        __tracebackhide__ = True
        return _rocketproof_suite.judge(rocketproof_client, accept)

    return judge
