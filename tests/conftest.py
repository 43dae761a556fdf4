"""Hypothesis profiles: `quick` while one works, `ci` the same examples every time, `long` for a night.

Choose with `--hypothesis-profile=NAME`; without it `ci` where the variable CI is set, else `quick`.
No profile has a deadline: the first example of a test may compile a kernel.
"""

import gc
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    # Without bytecode this process and the hundred that tests start would compile all modules anew; so it is kept out of sight.
    # This comes before the imports: pytest rewrites Hypothesis, which takes 2 CPU-s.
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(Path(__file__).parents[1] / ".rocketproof" / "bytecode")
    sys.dont_write_bytecode = False

import pytest
from hypothesis import HealthCheck, settings

from costs import Costs

pytest_plugins = [
    "rocketproof_lab.requirements.plugin",  # the marker `behaviour`, which is the project's own
    "rocketproof_properties.pytest_plugin",  # also where the project is not installed
]

_SLOW = (HealthCheck.too_slow,)

# 20 examples kill all seeded mutants, and CI tries all of them.
settings.register_profile("quick", max_examples=20, deadline=None, suppress_health_check=_SLOW)
settings.register_profile(
    "ci", max_examples=100, deadline=None, suppress_health_check=_SLOW, derandomize=True, database=None, print_blob=True
)
settings.register_profile("long", max_examples=5000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile("ci" if os.environ.get("CI") else "quick")


os.environ["ROCKETPROOF_FRESH"] = "1"  # a test of `check` is one of the engines, and not of what an earlier test left in the cache

if not os.environ.get("CI"):
    # The models of these tests are small: compiling their kernels takes longer than running them. CI compiles as users do.
    os.environ.setdefault("ROCKETPROOF_OPTIMISE", "0")

_NAMED = {Path(__file__).parent / name for name in ("long", "real", "spark")}
"""Folders of tests that need minutes, or Java: only collected where they are named, and those not marked `slow` are for the night."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", metavar="FILE", help="write the page with the CPU seconds of each test")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--costs"):
        config.pluginmanager.register(Costs(config), "rocketproof-costs")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return two processes more than cores: tests wait half of their time, for other processes, sockets and timeouts."""
    from rocketproof_traces.common.pools import cores

    return 2 + cores()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: nothing is garbage yet, and looking through what is imported takes a fifth of the time.

    What exists by then lives as long as the process, so later collections leave it out.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Real brokers download archives, Spark starts Java: only for those who name their folder."""
    if collection_path not in _NAMED:
        return None
    named = [Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args]
    return None if any(collection_path == path or collection_path in path.parents for path in named) else True


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    named = {path: not _NAMED.isdisjoint(path.parents) for path in {item.path for item in items}}  # of files: there are fewer of them
    for item in items:
        if named[item.path] and item.get_closest_marker("slow") is None:
            item.add_marker("nightly")


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c() -> Iterator[None]:
    """Tests send SIGINT to themselves and to their children, which inherit that it is ignored, as it is for a suite begun by `pytest &`.

    The commands themselves respect it: who starts one in the background wants no Ctrl-C to end it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, signal.SIG_IGN)
