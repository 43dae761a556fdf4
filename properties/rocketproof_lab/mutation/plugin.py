"""For pytest: run the tests with certain ids, or the tests that must find a mutant while its change is switched on.

    pytest -p rocketproof_lab.mutation.plugin --mutant M-14a

The `behaviour` markers of a test contain its ids.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext

import pytest

from rocketproof_model import RocketproofError

from .by_tests import carried
from .patch import Ready, prepare
from .seeded.registry import mutants

_WANTED = pytest.StashKey[set[str]]()
_READY = pytest.StashKey[Ready | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rocketproof")
    group.addoption("--behaviour", action="append", default=[], metavar="ID", help="only tests that carry this id; may be repeated")
    group.addoption("--mutant", metavar="ID", help="switch a mutant on, and run only tests that have to find it")


def pytest_configure(config: pytest.Config) -> None:
    wanted: set[str] = {*(config.getoption("--behaviour") or ())}
    ready = None
    named = config.getoption("--mutant")
    if named:
        letter = named[-1] if named[-1].isalpha() else ""
        try:
            (mutant,) = mutants([named.removesuffix(letter)])
            if letter not in mutant.patches:
                variants = ", ".join(mutant.id + letter for letter in mutant.patches)
                raise pytest.UsageError(f"--mutant {named} is not a variant; use {variants}")
            ready = prepare(mutant.patches[letter])
        except RocketproofError as error:
            raise pytest.UsageError(str(error)) from None
        wanted |= set(mutant.killers)
    config.stash[_WANTED], config.stash[_READY] = wanted, ready


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.stash[_WANTED]
    if wanted:
        left_out = [item for item in items if not wanted & carried(item)]
        items[:] = [item for item in items if wanted & carried(item)]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    ready = session.config.stash[_READY]
    with ready.applied() if ready else nullcontext():
        return (yield)
