"""The pytest plugin: the catalogue as a test suite for any CI, and fixtures that give a broker to a user's tests.

With `--rocketproof-target`, pytest collects the catalogue: one item per property and rule that programs can show over the wire. A user's
test can send requests to the target with the fixture `rocketproof_client`, and judge the history with `rocketproof_judge`. If a collected
test uses a fixture, or paths are named, the catalogue is collected only on request.

The fixture `rocketmq` is a cluster of reference brokers for the tests of an application. It needs no target.

pytest loads this module by its entry point if the project is installed, and by `pytest_plugins` otherwise. Both use the same name, so that
it is loaded once. All registered names begin with `rocketproof` or `rocketmq`. Without a target, the plugin imports no other module.
PYTEST_DONT_REWRITE: there is no assert to explain.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Collection, Generator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .validation.suite import options as given
from .validation.suite.options import Options

if TYPE_CHECKING:
    from .judging.verdicts import JudgedProgram
    from .validation.appcluster import RocketMQ
    from .validation.ownprograms import Suite, SuiteClient

NAME = "rocketproof"
_FIXTURES = frozenset({"rocketproof_target", "rocketproof_client", "rocketproof_judge"})
_OPTIONS = pytest.StashKey[Options]()
_CHOSEN = pytest.StashKey[list[str]]()
_PATHS = pytest.StashKey[bool]()
_SCRATCH = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup(NAME, "rocketproof, a suite for RocketMQ brokers")
    for option in given.ALL:
        group.addoption(option.flag, dest=option.ini, metavar=option.metavar, default=None, help=option.help)
        parser.addini(option.ini, f"as {option.flag}", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, and report errors in them before collection.

    Arguments that name the catalogue (`rocketproof`, `rocketproof::ID`) are removed from the arguments of pytest.
    """
    config.addinivalue_line("markers", f"{NAME}: an item of rocketproof's catalogue")
    config.addinivalue_line(
        "markers", "rocketmq(brokers=1, topics=(), profile='P494', settings={}, queues=4): what the fixture `rocketmq` sets up"
    )
    for kind in ("property", "rule", "specification", "reference", "hazard", "known"):
        config.addinivalue_line("markers", f"{NAME}_{kind}: an item of rocketproof's catalogue, of this kind")
    options = config.stash[_OPTIONS] = given.read(config)
    here = config.invocation_params.dir
    chosen = [argument for argument in config.args if argument == NAME or argument.startswith(f"{NAME}::")]
    chosen = [argument for argument in chosen if not (here / argument.partition("::")[0]).exists()]
    has_arguments = config.args_source is pytest.Config.ArgsSource.ARGS
    if chosen:
        config.args[:] = [argument for argument in config.args if argument not in chosen]
    config.stash[_CHOSEN], config.stash[_PATHS] = chosen, has_arguments and bool(config.args)
    is_requested = chosen or options.suite == "always"
    if is_requested and not options.target:
        raise pytest.UsageError(
            f"{chosen[0] if chosen else given.SUITE.flag}: give a target too, such as {given.TARGET.flag} 127.0.0.1:10911"
        )
    if not options.target:
        return
    worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker_input is None:
        given.check(options)
        config.stash[_SCRATCH] = Path(tempfile.gettempdir()) / f"{NAME}-suite-{uuid.uuid4().hex}"
    else:
        config.stash[_SCRATCH] = Path(worker_input["rocketproof_scratch"])


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and _SCRATCH in config.stash:
        shutil.rmtree(config.stash[_SCRATCH], ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the shared scratch folder to a worker of xdist."""
    if _SCRATCH in node.config.stash:
        node.workerinput["rocketproof_scratch"] = str(node.config.stash[_SCRATCH])


def pytest_report_header(config: pytest.Config) -> str | None:
    options = config.stash[_OPTIONS]
    return f"rocketproof: target {options.target}, profile {options.profile or 'its own'}" if options.target else None


# The catalogue


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Collect the catalogue if requested, before -k and -m select items."""
    if any("rocketmq" in getattr(item, "fixturenames", ()) for item in items):
        import_module(".validation.appcluster", __package__)  # now, so that the first test does not wait for it
    options, chosen = config.stash[_OPTIONS], config.stash[_CHOSEN]
    if not options.target or not (chosen or _is_wanted(options, items, paths=config.stash[_PATHS])):
        return
    from rocketproof_model import RocketproofError

    from .validation.suite.items import OPTIONS, SCRATCH, Catalogue

    config.stash[OPTIONS], config.stash[SCRATCH] = options, config.stash[_SCRATCH]
    catalogue = Catalogue.from_parent(
        session, name=NAME, nodeid=NAME, wanted=lambda node: not chosen or any(_names(argument, node) for argument in chosen)
    )
    try:
        items.extend(session.genitems(catalogue))
    except RocketproofError as error:
        raise pytest.UsageError(str(error)) from None


def _is_wanted(options: Options, items: list[pytest.Item], *, paths: bool) -> bool:
    if options.suite != "auto":
        return options.suite == "always"
    return not paths and not any(_FIXTURES.intersection(getattr(item, "fixturenames", ())) for item in items)


def _names(argument: str, node: str) -> bool:
    """Return whether an argument names a node: `rocketproof` names all, an id names one, a property's id names it under all conditions."""
    return argument == NAME or argument in (node, node.partition("[")[0])


class _Names:
    """Gives test cases in junit.xml readable names: the id and the sentence."""

    def __init__(self, junit: Any) -> None:
        self._junit = junit

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = dict(report.user_properties)
        if f"{NAME}_id" in properties:
            self._junit.node_reporter(report).add_attribute("name", f"{properties[f'{NAME}_id']} {properties[f'{NAME}_sentence']}")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Raise UsageError for unknown item names, which an xdist worker could not report."""
    config = session.config
    if any(argument != NAME for argument in config.stash[_CHOSEN]) and not hasattr(config, "workerinput"):
        from .reports.choices import offer
        from .validation.suite.shared import entries_of, target_of

        options = config.stash[_OPTIONS]
        ids = [entry.id for entry in entries_of(target_of(options), options)]
        for argument in config.stash[_CHOSEN]:
            if not any(_names(argument, f"{NAME}::{id_}") for id_ in ids):
                raise pytest.UsageError(f"{argument}: there is no such item; {offer(argument.removeprefix(f'{NAME}::'), ids)}")
    writers = [plugin for plugin in session.config.pluginmanager.get_plugins() if hasattr(plugin, "node_reporter")]
    for writer in writers:  # pytest's own writer, if --junitxml is given
        session.config.pluginmanager.register(_Names(writer))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a skipped item of the catalogue at its node id, not at a line of this project."""
    report = yield
    if item.nodeid.startswith(f"{NAME}::") and report.skipped and isinstance(report.longrepr, tuple):
        report.longrepr = (item.nodeid, None, report.longrepr[2])  # type: ignore[assignment]  # a line is not known
    return report


def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Mark items that showed a known violation."""
    if not isinstance(report, pytest.TestReport) or not report.nodeid.startswith(f"{NAME}::"):
        return None
    properties = dict(report.user_properties)
    if report.when == "call" and report.passed and properties.get(f"{NAME}_expected") == "violated":
        return "passed", ".", ("VIOLATED AS EXPECTED", {"green": True})
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _SCRATCH not in config.stash or not config.stash[_SCRATCH].exists():
        return
    from .validation.suite.shared import known

    state = known(config.stash[_SCRATCH])
    if state is None or state.error:
        return
    terminalreporter.section("rocketproof", sep="-")
    terminalreporter.write_line(state.summary)
    for line in (*state.notes, *([f"stopped: {state.stopped}"] if state.stopped else []), *filter(None, [state.undecided])):
        terminalreporter.write_line(line, yellow=True)
    terminalreporter.write_line(f"histories and report: {state.folder}")


# A target for users' tests


@pytest.fixture(scope="session")
def rocketproof_target(request: pytest.FixtureRequest) -> str:
    """The target that the tests were given; they are skipped without a target."""
    options = request.config.stash[_OPTIONS]
    if not options.target:
        pytest.skip(f"no broker: give one with {given.TARGET.flag}, such as 127.0.0.1:10911 or apache:4.9.4")
    return options.target


@pytest.fixture(scope="session")
def _rocketproof_suite(
    rocketproof_target: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Suite | str, None, None]:
    """The target, set up for the session, or the error that prevented the setup."""
    from rocketproof_model import RocketproofError

    from .validation.ownprograms import Suite
    from .validation.suite.shared import target_of

    options = request.config.stash[_OPTIONS]
    try:
        target = target_of(options)
        running = target.open()
    except RocketproofError as error:
        yield f"{given.TARGET.flag} {rocketproof_target}: {error}"
        return
    with running:
        suite = Suite(running, target.profile, tmp_path_factory.mktemp(NAME), options.name_server)
        yield suite
        suite.close()


@pytest.fixture
def rocketproof_client(_rocketproof_suite: Suite | str, request: pytest.FixtureRequest) -> Generator[SuiteClient, None, None]:
    """A client of the target. Its requests and responses are recorded, under topics and groups that no other test uses.

    If the target cannot be reached, one test fails with the reason and the others are skipped.
    """
    if isinstance(_rocketproof_suite, str):
        from .validation.suite.shared import is_first_to_report

        if is_first_to_report(request.config.stash[_SCRATCH]):
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


# A cluster for the tests of an application


@pytest.fixture
def rocketmq(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[RocketMQ, None, None]:
    """A cluster of RocketMQ brokers for this test, whose requests are recorded: `rocketmq.namesrv_addr` is its name server.

    It is ready when the routes of the topics exist that the marker `rocketmq(topics=[...])` names.
    """
    from rocketproof_model import RocketproofError

    from .validation.appcluster import RocketMQ, setup_of

    options = request.config.stash[_OPTIONS]
    marked = [marker.kwargs for marker in request.node.iter_markers("rocketmq")]
    try:
        cluster = RocketMQ(setup_of(options.cluster_target, options.cluster_profile, marked), tmp_path_factory.mktemp("rocketmq"))
    except (RocketproofError, TypeError) as error:
        pytest.fail(f"rocketmq: {error}", pytrace=False)
    with cluster:
        yield cluster
