"""Where a model instance comes from: the specification (scope, profile, switches) or a file (scope).

A Source is small plain data: the key by which verdicts are grouped into runs, what a witness file stores so that `show`
and `explain` can build the same instance again, and what another process needs to do the same.
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

UNPERFORMED = ("controller",)
"""Scopes of the specification that are searched and proved, and performed nowhere: the reference implementation has no controller."""


@dataclass(frozen=True, eq=False)
class Stated:
    """The model of a scope of the specification with all of its properties, and the digests of their content."""

    model: Model
    properties: tuple[Property, ...]
    content: str
    claims: dict[Property, str]


@dataclass(frozen=True, eq=False)
class CheckSubject:
    """What the engines work on: an instance and every property that is stated of it, always the same list for one model. `stated` is where
    they are from if that was read from the cache."""

    instance: Instance
    properties: tuple[Property, ...]
    stated: Stated | None = None

    def property(self, id_: str, kind: str = "") -> Property:
        """The property with this id (and kind, where one id is stated both as a lemma and of the states), or the claim of an error."""
        if id_.startswith(PREFIX):
            return claim_of_action(id_, self.instance.model)
        same = [p for p in self.properties if p.id == id_]
        for claim in same:
            if not kind or claim.kind == kind:
                return claim
        raise InputError(f"property {id_!r} is not stated in this scope; {offer(id_, [p.id for p in self.properties])}")


@dataclass(frozen=True)
class ModelSource:
    """`given` are readable values of constants; `file` is None for the specification."""

    scope: str
    profile: str = ""
    given: tuple[tuple[str, Any], ...] = ()
    file: str | None = None

    def subject(self) -> CheckSubject:
        """Build (or find again) the instance. Raises InputError in one line."""
        if self.is_messages:
            raise InputError("programs of messages have no model; give a scope of the specification")
        if self.file is not None:
            loaded = _file(self.file, self.scope, self.given, _stamp(self.file))
            return CheckSubject(loaded.instance, tuple(loaded.model.properties))
        return CheckSubject(_part(self.scope).model.given(**self._constants()), specified(self.scope))

    def kept(self) -> CheckSubject:
        """The same as `subject()`, of the specification from the cache: a tenth of the time, but another model than that of the part of the
        specification, whose variables are other objects. Raises InputError in one line."""
        if self.file is not None or self.is_messages:
            return self.subject()
        found = stated(self.scope)
        return CheckSubject(found.model.given(**self._constants()), found.properties, found)

    @property
    def is_at_hand(self) -> bool:
        """Whether `kept()` need not build the model of a scope of the specification."""
        return self.file is not None or self.is_messages or _path(self.scope).exists()

    def _constants(self) -> dict[str, Any]:
        """The constants of a part of the specification."""
        from rocketproof_spec import NAMES, constants, part_class

        return constants(self.profile, part_class(known("scope", self.scope, NAMES)), **dict(self.given))

    @property
    def exists(self) -> bool:
        """Whether the scope has what is given: a small one may lack a value."""
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
        """Whether this is about programs of messages; `given` says which, and every profile is an instance of its own."""
        return self.file is None and self.scope == MESSAGES

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for sources that give the same instance, though their profiles have other names."""
        if self.is_messages:
            return (None, self.scope, self.profile, self.given)
        return (self.file, self.scope, tuple(sorted(self._constants().items())) if self.file is None else self.given)

    @property
    def name(self) -> str:
        """Short, for people: the file and the scope."""
        return " ".join(part for part in (self.file and Path(self.file).name, self.scope) if part)

    def record(self) -> dict[str, Any]:
        """The JSON form stored in a witness."""
        return {"file": self.file, "scope": self.scope, "profile": self.profile, "given": dict(self.given)}

    @staticmethod
    def read(record: Mapping[str, Any]) -> ModelSource:
        """The source that `record()` wrote; raises InputError if it is none."""
        try:
            given = tuple(sorted((name, _hashable(value)) for name, value in dict(record["given"]).items()))
            return ModelSource(str(record["scope"]), str(record.get("profile") or ""), given, record.get("file"))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("the witness does not say which model it belongs to; make it anew with `rocketproof check`") from None


def choose(file: str | None, scope: str | None, profile: str | None, given: Sequence[str] = ()) -> ModelSource:
    """The source that a user names; for the specification scope `tiny` and profile P49 unless given.

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


def _stamp(path: str) -> tuple[object, ...]:
    """What changes when another file stands at the path."""
    try:
        found = Path(path.partition(modelfile.NAMED)[0]).stat()
    except OSError:
        return (Path(path).absolute(),)
    return (Path(path).absolute(), found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=16)
def _file(path: str, scope: str, given: tuple[tuple[str, Any], ...], stamp: tuple[object, ...]) -> modelfile.ModelFile:
    return modelfile.load(path, scope, dict(given))


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def specified(scope: str) -> tuple[Property, ...]:
    """The properties that the catalogue states of a scope of the specification. Raises InputError for a scope that does not exist."""
    return _specified(scope)


@functools.lru_cache(maxsize=16)
def _specified(scope: str) -> tuple[Property, ...]:
    from .table import properties

    return tuple(properties(_part(scope)))


def stated(scope: str) -> Stated:
    """What is stated of a scope of the specification, from the cache. Raises InputError for a scope that does not exist."""
    from rocketproof_spec import NAMES

    return _stated(known("scope", scope, NAMES))


@functools.cache
def _stated(scope: str) -> Stated:
    path = _path(scope)
    data = diskcache.read(path)
    if data is None:
        found = _built(scope)
        with suppress(OSError):  # the next process builds it again
            diskcache.write(path, pickle.dumps(found))
        return found
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
    """A digest of all code that models and properties may be made by."""
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
    """The model of a scope, which takes a fraction of what its properties take."""
    from rocketproof_spec import NAMES, part

    return part(known("scope", scope, NAMES))
