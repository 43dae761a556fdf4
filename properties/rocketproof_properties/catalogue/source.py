"""The source of a model instance: the specification (scope, profile, switches) or a file (scope).

A source is small plain data. It is the key by which verdicts are grouped into runs. A witness file stores it, so that `show` and `explain`
can build the same instance again, and so can another process.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rocketproof_model import Instance, Model, Property, RocketproofError, diskcache
from rocketproof_model.faults import PREFIX
from rocketproof_model.language.content import Contents
from rocketproof_traces.witness.restore import claim_of_action

from ..reports.choices import MESSAGES, InputError, known, offer
from . import modelfile

WITHOUT_IMPLEMENTATION = ("controller",)
"""Scopes that are only searched and proved, because the reference implementation has no controller."""


@dataclass(frozen=True, eq=False)
class Stated:
    """The model of a scope of the specification with all of its properties, and the digests of their content."""

    model: Model
    properties: tuple[Property, ...]
    content: str
    claims: dict[Property, str]


@dataclass(frozen=True, eq=False)
class CheckSubject:
    """The input of the engines: an instance, and every property stated of it, in a fixed order per model. `stated` is the cached
    model, if they are from the cache."""

    instance: Instance
    properties: tuple[Property, ...]
    stated: Stated | None = None

    def property(self, id_: str, kind: str = "") -> Property:
        """Return the property with this id, or the claim of an error.

        `kind` distinguishes a lemma from a property of states with the same id. Raises InputError for an unknown id.
        """
        if id_.startswith(PREFIX):
            return claim_of_action(id_, self.instance.model)
        same = [p for p in self.properties if p.id == id_]
        for claim in same:
            if not kind or claim.kind == kind:
                return claim
        raise InputError(f"property {id_!r} is not stated in this scope; {offer(id_, [p.id for p in self.properties])}")


@dataclass(frozen=True)
class ModelSource:
    """The parameters of an instance. `given` are readable values of constants; `file` is None for the specification."""

    scope: str
    profile: str = ""
    given: tuple[tuple[str, Any], ...] = ()
    file: str | None = None

    def subject(self) -> CheckSubject:
        """Build the instance, or return it from a cache in memory. Raises InputError in one line."""
        if self.is_messages:
            raise InputError("programs of messages have no model; give a scope of the specification")
        if self.file is not None:
            loaded = _file(self.file, self.scope, self.given, stamp(self.file))
            return CheckSubject(loaded.instance, tuple(loaded.model.properties))
        return CheckSubject(_part(self.scope).model.given(**self._constants()), specified(self.scope))

    def kept(self) -> CheckSubject:
        """Return the same as `subject()`, but read the specification from the cache. Raises InputError in one line.

        This takes a tenth of the time. The model's variables are not the objects that the specification's classes hold.
        """
        if self.file is not None or self.is_messages:
            return self.subject()
        cached = stated(self.scope)
        return CheckSubject(cached.model.given(**self._constants()), cached.properties, cached)

    @property
    def is_cached(self) -> bool:
        """Whether `kept()` can return without building the model of a scope."""
        return self.file is not None or self.is_messages or _path(self.scope).exists()

    def _constants(self) -> dict[str, Any]:
        """Return the constants of the scope's model."""
        from rocketproof_spec import NAMES, constants, part_class

        return constants(self.profile, part_class(known("scope", self.scope, NAMES)), **dict(self.given))

    @property
    def exists(self) -> bool:
        """Whether the scope has the given values. A small scope may lack one."""
        try:
            if self.file is None and not self.is_messages:
                self.kept()
            else:
                self.subject()
        except RocketproofError:
            return False
        return True

    @property
    def is_messages(self) -> bool:
        """Whether the source is for programs of messages. `given` names the programs, and each profile is a separate instance."""
        return self.file is None and self.scope == MESSAGES

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that is equal for sources of the same instance, even if the names of their profiles differ."""
        if self.is_messages:
            return (None, self.scope, self.profile, self.given)
        return (self.file, self.scope, tuple(sorted(self._constants().items())) if self.file is None else self.given)

    @property
    def name(self) -> str:
        """A short name for users: the file and the scope."""
        return " ".join(part for part in (self.file and Path(self.file).name, self.scope) if part)

    def record(self) -> dict[str, Any]:
        """Return the JSON form for a witness."""
        return {"file": self.file, "scope": self.scope, "profile": self.profile, "given": dict(self.given)}

    @staticmethod
    def read(record: Mapping[str, Any]) -> ModelSource:
        """Return the source that `record()` wrote. Raises InputError for anything else."""
        try:
            given = tuple(sorted((name, _hashable(value)) for name, value in dict(record["given"]).items()))
            return ModelSource(str(record["scope"]), str(record.get("profile") or ""), given, record.get("file"))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("the witness does not say which model it belongs to; make it anew with `rocketproof check`") from None


def choose(file: str | None, scope: str | None, profile: str | None, given: Sequence[str] = ()) -> ModelSource:
    """Return the source that a user names. For the specification the defaults are scope `tiny` and profile P49.

    `given` are sizes and constants of a file, as NAME=VALUE.
    """
    values = modelfile.settings(given, file)
    if file is not None:
        if profile is not None:
            raise InputError(f"--profile {profile} with a model file; a file has scopes, not profiles: leave out --profile")
        return ModelSource(modelfile.load(file, scope, values).scope, given=tuple(sorted(values.items())), file=file)
    from rocketproof_profiles import PROFILES
    from rocketproof_spec import NAMES

    return ModelSource(known("scope", scope or "tiny", NAMES), known("profile", profile or "P49", PROFILES))


def stamp(path: str) -> tuple[object, ...]:
    """Return a value that changes when the file at the path is replaced."""
    try:
        status = Path(path.partition(modelfile.NAMED)[0]).stat()
    except OSError:
        return (Path(path).absolute(),)
    return (Path(path).absolute(), status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=16)
def _file(path: str, scope: str, given: tuple[tuple[str, Any], ...], stamp: tuple[object, ...]) -> modelfile.ModelFile:
    return modelfile.load(path, scope, dict(given))


def forget_files() -> None:
    """Read model files again, also unchanged ones: a module that they import may have changed."""
    _file.cache_clear()


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def specified(scope: str) -> tuple[Property, ...]:
    """Return the properties that the catalogue states of a scope. Raises InputError for an unknown scope."""
    return _specified(scope)


@functools.lru_cache(maxsize=16)
def _specified(scope: str) -> tuple[Property, ...]:
    from .table import properties

    return tuple(properties(_part(scope)))


def stated(scope: str) -> Stated:
    """Return the model and properties of a scope from the cache. Raises InputError for an unknown scope."""
    from rocketproof_spec import NAMES

    return _stated(known("scope", scope, NAMES))


@functools.cache
def _stated(scope: str) -> Stated:
    path = _path(scope)
    data = diskcache.read(path)
    if data is None:
        built = _built(scope)
        with suppress(OSError):  # the next process builds it again
            diskcache.write(path, pickle.dumps(built))
        return built
    read: Stated = pickle.loads(data)
    return read


def _path(scope: str) -> Path:
    return diskcache.folder("models", _code()) / f"{scope}.pickle"


def _built(scope: str) -> Stated:
    part, properties, contents = _part(scope), specified(scope), Contents()
    claims = {claim: contents.claim(claim) for claim in properties}
    return Stated(part.model, properties, contents.model(part.model), claims)


@functools.cache
def _code() -> str:
    """A digest of all code that models and properties depend on."""
    packages = (
        "rocketproof_model",
        "rocketproof_spec",
        "rocketproof_profiles",
        "rocketproof_protocol",
        "rocketproof_traces",
        "rocketproof_properties",
    )
    folders = [Path(str(import_module(package).__file__)).parent for package in packages]
    return diskcache.code_digest(file for folder in folders for file in folder.rglob("*.py"))


def _part(scope: str) -> Any:
    """Return the model of a scope. This takes a fraction of the time of its properties."""
    from rocketproof_spec import NAMES, part

    return part(known("scope", scope, NAMES))
