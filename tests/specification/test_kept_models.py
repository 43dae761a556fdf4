"""Models of the specification read from the cache are those that the code builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_model import search
from rocketproof_model.language.content import Contents
from rocketproof_properties.catalogue import source as sources
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.commands.checks import matrix, processes
from rocketproof_properties.commands.checks.plan import CheckRequest, plan
from rocketproof_properties.commands.checks.units import Unit
from rocketproof_properties.commands.checks.verdictcache import VerdictCache
from rocketproof_spec import part, part_class

FLUSH = ModelSource("flush", "P49")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that contains one model."""
    monkeypatch.setenv("ROCKETPROOF_CACHE", str(tmp_path))
    monkeypatch.setattr(sources, "_stated", sources._stated.__wrapped__)  # each call simulates another process
    FLUSH.kept()
    return tmp_path


def test_cached_model_has_same_content_and_verdicts(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_built", None)
    kept, built = FLUSH.kept(), FLUSH.subject()
    assert kept.stated is not None and kept.instance.model is not built.instance.model
    assert kept.stated.content == Contents().model(kept.instance.model) == Contents().model(built.instance.model)
    assert list(kept.stated.claims.values()) == [Contents().claim(claim) for claim in built.properties]
    assert kept.instance.constants == built.instance.constants
    found = [search.explore(model.instance, model.properties) for model in (kept, built)]
    told = [[(o.property.id, o.verdict, o.states, o.witness and o.witness.labels()) for o in each.outcomes] for each in found]
    assert told[0] == told[1] and told[0]


@pytest.mark.parametrize("change", ["a flipped bit", "others may write"])
def test_file_that_cannot_be_trusted_is_built_again(cache: Path, change: str) -> None:
    (file,) = cache.glob("models-*/flush.pickle")
    whole = bytearray(file.read_bytes())
    if change == "others may write":
        file.chmod(0o666)
    else:
        whole[-9] ^= 1
        file.write_bytes(whole)
    content = FLUSH.kept().instance.model
    assert Contents().model(content) == Contents().model(FLUSH.subject().instance.model)
    assert file.stat().st_mode & 0o777 == 0o600 and file.read_bytes() != (b"" if change == "others may write" else bytes(whole))


class Silent:
    def begin(self, number: int, of: int, unit: Unit) -> None: ...

    def decided(self, rows: object) -> None: ...

    def progress(self, unit: Unit, at: object) -> None: ...


def test_workers_build_models(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Unit] = []
    monkeypatch.setattr(sources, "_built", None)
    monkeypatch.setattr(processes, "run", lambda units, *_: given.extend(units))
    tasks = plan(CheckRequest(profiles=("P45",))).tasks
    matrix.run(tasks, Silent(), matrix.Settings(workers=2, cache=VerdictCache()))
    assert len({unit.source.scope for unit in given}) > 10
    assert {task for unit in given for task in unit.tasks} == set(tasks)


@pytest.mark.parametrize("name", ["backs", "tiny", "timers", "flush"])
def test_class_of_part_is_known_without_its_model(name: str) -> None:
    assert type(part(name)) is part_class(name)
