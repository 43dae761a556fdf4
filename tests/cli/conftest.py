"""A specification and a catalogue that are quick to check and replace the real ones; and a way to run commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import rocketproof_spec
from rocketproof_model import Bool, Int, Model, Property, after, free, implies, wrap32
from rocketproof_properties.catalogue import source as sources
from rocketproof_properties.commands import run
from rocketproof_properties.commands.checks import processes, show, summary


@dataclass(frozen=True)
class Case:
    """The fields of the real catalogue's cases."""

    property: str
    claim: str
    sentence: str
    kind: str
    profile: str
    scope: str
    expected: str
    condition: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    engines: tuple[str, ...] = ("explicit",)
    method: str = ""
    widen: tuple[tuple[str, int], ...] = ()
    lemmas: tuple[str, ...] = ()
    reason: str = ""


@lru_cache
def door(size: int) -> SimpleNamespace:
    """Build a door that counts how often it was opened; with `broken` its lock does not hold it."""
    m = Model("door")
    broken = m.constant("broken", Bool, False)
    shut = m.var("shut", Bool, init=True)
    locked = m.var("locked", Bool, init=False)
    times = m.var("times", Int(0, size), init=0)

    @m.action(fair="weak")
    def enter(a: Any) -> None:
        """The door is opened."""
        a.guard("shut", shut, "the door is shut")
        a.guard("unlocked", ~locked | broken, "nothing locks the door")
        a.bound("times left", times < size, "the scope allows another opening")
        a.set(shut, False)
        a.set(times, times + 1)

    @m.action(fair="weak")
    def close(a: Any) -> None:
        """The door falls shut."""
        a.guard("open", ~shut, "the door is open")
        a.set(shut, True)

    @m.action()
    def lock(a: Any) -> None:
        """The door is locked."""
        a.guard("shut", shut, "the door is shut")
        a.set(locked, True)

    @m.action()
    def blast(a: Any) -> None:
        """The door is blown up, which a door of this size never is."""
        a.guard("huge", times < 0, "the door is huge")
        a.set(shut, False)

    n = free("n", Int(-(2**31), 2**31 - 1))
    claims: list[Property] = [
        m.claim("D-1", "a locked door is shut", "always", implies(locked, shut)),
        m.claim("D-2", "the count never falls", "step", after(times) >= times),
        m.claim("D-3", "the door can be open", "reachable", ~shut),
        m.claim("D-4", "an open door falls shut again", "leads_to", ~shut, shut),
        m.claim("D-5", "n & 7 is between 0 and 7", "lemma", ((n & 7) >= 0) & ((n & 7) <= 7)),
        m.claim("D-6", "a door that was blown up is open", "always", implies(times < 0, ~shut)),
        m.claim("D-7", "the next number is larger", "lemma", wrap32(n + 1) > n),
    ]
    return SimpleNamespace(model=m, claims=claims, switches=(), scope=SimpleNamespace(name="any"))


def case(id_: str, expected: str, **more: Any) -> Case:
    claim = next(p for p in door(2).claims if p.id == id_)
    return Case(id_, id_, claim.sentence, claim.kind, **{"profile": "P49", "scope": "small", "expected": expected, **more})


CASES = (
    case("D-1", "holds"),
    case("D-1", "violated", condition="broken lock", given={"broken": True}, reason="a broken lock holds nothing"),
    case("D-2", "holds", engines=("explicit", "symbolic"), method="induction:1"),
    case("D-3", "holds", engines=("explicit", "symbolic"), method="bounded:3"),
    case("D-4", "holds"),
    case("D-5", "holds", engines=("symbolic",), method="lemma"),
    case("D-7", "violated", engines=("symbolic",), method="lemma", profile="P45"),
)
assert show and summary, "import them before the specification is replaced: they need the real specification"
SIZES = {"tiny": 1, "small": 2, "huge": 2**40}


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Install the door's specification and catalogue under the real names; set CASES on the returned module to change it."""
    specification = ModuleType("rocketproof_spec")
    specification.__file__ = rocketproof_spec.__file__
    specification.NAMES = tuple(SIZES)  # type: ignore[attr-defined]
    specification.SCOPES = {}  # type: ignore[attr-defined]
    specification.part = lambda name: door(SIZES[name])  # type: ignore[attr-defined]
    specification.part_class = lambda name: None  # type: ignore[attr-defined]
    specification.constants = lambda profile, of, **switches: switches  # type: ignore[attr-defined]
    made = ModuleType("rocketproof_properties.catalogue.table")
    made.CASES = CASES  # type: ignore[attr-defined]
    made.properties = lambda s: s.claims  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, specification.__name__, specification)
    monkeypatch.setitem(sys.modules, made.__name__, made)
    monkeypatch.setattr(sources, "_specified", sources._specified.__wrapped__)
    monkeypatch.setattr(sources, "_stated", sources._built)
    monkeypatch.setattr(processes, "available", lambda units, workers: False)  # other processes would find the real ones
    return made


@dataclass(frozen=True)
class Session:
    """The output of a command and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def rocketproof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Session]:
    """Run a command in an empty folder, 100 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*tokens: str) -> Session:
        code = run(tokens)
        printed = capsys.readouterr()
        return Session(code, printed.out, printed.err)

    return call
