"""Witness files: a path through a model as ITF JSON, the trace format of Apalache and Quint.

An array is a map from indices (a tuple for several indices). The columns `config.read` and `config.known` of a table are one map of records
`config`. Integers are `#bigint`. A Maybe is a set of at most one element. Apalache and Quint use variants for this, which itf-py 0.5 cannot
load; `dialect="quint"` writes them, and both forms are read.

`#meta.rocketproof` has the property, the moves, the constants, a note, and the `origin` from which the caller builds the model again. Each
state repeats its move in Quint's `mbt::actionTaken` and `mbt::nondetPicks`. Files of other tools have none of this. `restore` turns a
file's content into a witness.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rocketproof_model import Instance, Model, Variable
from rocketproof_model.interpreter import State
from rocketproof_model.language import IndexType, MaybeType, SetType, Type
from rocketproof_model.result import Move, Witness

from ..common.errors import TraceError, short
from ..common.files import replace_text
from .words import plain

SCHEMA = 1
FORMAT = "https://apalache-mc.org/docs/adr/015adr-trace.html"
ACTION, PICKS = "mbt::actionTaken", "mbt::nondetPicks"
Dialect = Literal["plain", "quint"]


class Variant(NamedTuple):
    """A tagged value of ITF."""

    tag: str
    value: Any


@dataclass(frozen=True)
class FileMove:
    """A move as it stands in a file; `args` are plain JSON values by parameter."""

    action: str
    args: dict[str, Any]


@dataclass(frozen=True)
class WitnessFile:
    """What a file holds, before a model is asked.

    `states` map variables to Python values (maps and records are dicts, sets frozensets). `moves` is None in a file of
    another tool; `actions` are then the names that Quint gave to the steps, or "". `property`, `kind`, `origin` and
    `constants` are empty in such a file.
    """

    path: str
    origin: dict[str, Any]
    property: str
    kind: str
    moves: tuple[FileMove, ...] | None
    actions: tuple[str, ...]
    states: tuple[dict[str, Any], ...]
    loop: int | None
    note: str
    constants: dict[str, Any]


# Writing


def write(witness: Witness, path: str | Path, origin: Mapping[str, Any], *, dialect: Dialect = "plain") -> None:
    """Write a witness file atomically: a reader sees the old file or the complete new one."""
    replace_text(path, dumps(witness, origin, dialect=dialect))


def dumps(witness: Witness, origin: Mapping[str, Any], *, dialect: Dialect = "plain") -> str:
    """Return the text of a witness file, one state per line; equal witnesses give equal text."""
    instance = witness.instance
    tables = tables_of(instance.model)
    moves = [
        json.dumps({"action": m.action, "args": _args(instance, m), "label": label})
        for m, label in zip(witness.moves, witness.labels(), strict=True)
    ]
    constants = {name: plain(instance.model.constants[name][0], code) for name, code in instance.constants.items()}
    facts = {
        "schema": str(SCHEMA),
        "property": json.dumps(witness.property.id),
        "kind": json.dumps(witness.property.kind),
        "origin": json.dumps(dict(origin)),
        "constants": json.dumps(constants),
        "elements": json.dumps(elements_of(instance.model)),
        "note": json.dumps(witness.note),
        "moves": _block("[", moves, "]", 3),
    }
    meta = {
        "format": '"ITF"',
        "format-description": json.dumps(FORMAT),
        "source": json.dumps(instance.model.name),
        "description": json.dumps(f"{witness.property.id}: {witness.property.sentence}"),
        "rocketproof": _block("{", [f'"{key}": {text}' for key, text in facts.items()], "}", 2),
    }
    lines = ['"#meta": ' + _block("{", [f'"{key}": {text}' for key, text in meta.items()], "}", 1)]
    lines.append(f'"vars": {json.dumps([*tables, ACTION, PICKS])}')
    if witness.loop is not None:
        lines.append(f'"loop": {witness.loop}')
    lines.append('"states": ' + _states(witness, dialect))
    return _block("{", lines, "}", 0) + "\n"


@lru_cache(maxsize=1)
def _states(witness: Witness, dialect: Dialect) -> str:
    """Return the states of a witness; files with different origins share the result."""
    tables = tables_of(witness.instance.model)
    return _block("[", [json.dumps(_state(witness, k, tables, dialect)) for k in range(len(witness.states))], "]", 1)


def _block(opens: str, rows: list[str], closes: str, depth: int) -> str:
    """Return a JSON list or object with one row per line, indented by `depth`."""
    if not rows:
        return opens + closes
    pad = "\n" + " " * depth
    return opens + ",".join(f"{pad} {row}" for row in rows) + pad + closes


def _args(instance: Instance, move: Move) -> dict[str, Any]:
    parameters = instance.model.named(move.action).parameters
    return {name: plain(type_, code) for (name, type_), code in zip(parameters.items(), move.args, strict=True)}


def _state(witness: Witness, k: int, tables: dict[str, list[Variable]], dialect: Dialect) -> dict[str, Any]:
    state = witness.states[k]
    row: dict[str, Any] = {"#meta": {"index": k}}
    for name, columns in tables.items():
        row[name] = _table(name, columns, state, dialect)
    row[ACTION] = witness.moves[k - 1].action if k else "init"
    row[PICKS] = _picks(witness, witness.moves[k - 1], dialect) if k else {}
    return row


def elements_of(model: Model) -> dict[str, list[str]]:
    """Return the names of the elements of each index that has names, by the index's name. They explain the numbers in a file."""
    axes = [*(axis for v in model.variables for axis in v.over), *(t for a in model.actions for t in a.parameters.values())]
    return {axis.name: list(axis.names) for axis in axes if isinstance(axis, IndexType) and axis.names}


def _picks(witness: Witness, move: Move, dialect: Dialect) -> dict[str, Any]:
    parameters = witness.instance.model.named(move.action).parameters
    values = {name: _itf(type_, code, dialect) for (name, type_), code in zip(parameters.items(), move.args, strict=True)}
    return {name: {"tag": "Some", "value": value} for name, value in values.items()} if dialect == "quint" else values


def tables_of(model: Model) -> dict[str, list[Variable]]:
    """Return the variables as ITF has them: the columns `t.x`, `t.y` over the same indices are one entry `t`."""
    groups: dict[str, list[Variable]] = {}
    for variable in model.variables:
        groups.setdefault(variable.name.partition(".")[0], []).append(variable)
    result: dict[str, list[Variable]] = {}
    for name, columns in groups.items():
        if len({v.over for v in columns}) == 1 and (all("." in v.name for v in columns) or len(columns) == 1):
            result[name if "." in columns[0].name else columns[0].name] = columns
        else:
            result.update({v.name: [v] for v in columns})
    return result


def field_of(name: str, variable: Variable) -> str:
    """The record field that a variable is in the entry `name`, or "" where it is the whole entry."""
    return variable.name[len(name) + 1 :]


def _table(name: str, columns: list[Variable], state: State, dialect: Dialect) -> Any:
    def at(index: tuple[int, ...]) -> Any:
        values = {field_of(name, v): _itf(v.type, state[v.slot(index)], dialect) for v in columns}
        return values.get("", values)

    if not columns[0].over:
        return at(())
    return {"#map": [[_key(index), at(index)] for index in columns[0].elements()]}


def _key(index: tuple[int, ...]) -> Any:
    numbers = [{"#bigint": str(i)} for i in index]
    return numbers[0] if len(numbers) == 1 else {"#tup": numbers}


def _itf(type_: Type, code: int, dialect: Dialect) -> Any:
    if isinstance(type_, MaybeType):
        held = _itf(type_.of, code - 1 + type_.of.lo, dialect) if code else None
        if dialect == "plain":
            return {"#set": [held] if code else []}
        return {"tag": "Some", "value": held} if code else {"tag": "None", "value": {"#tup": []}}
    if isinstance(type_, SetType):
        return {"#set": [_itf(type_.of, each, dialect) for each in type_.members(code)]}
    value = type_.decode(code)
    return value if isinstance(value, bool | str) else {"#bigint": str(value)}


# Reading

REWRITE = "have it written again by `rocketproof check`"


def read(path: str | Path) -> WitnessFile:
    """Read an ITF file of this or another tool. Raises TraceError for anything else."""
    place = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise TraceError(place, f"cannot be read ({error.strerror})", "check the path of the witness") from None
    except UnicodeDecodeError:
        raise TraceError(place, "is not text", "give an ITF file (JSON)") from None
    return loads(text, place)


def loads(text: str, place: str = "<text>") -> WitnessFile:
    """Like `read`, for text; `place` names it in errors."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        if not text.strip():
            raise TraceError(place, "is empty", REWRITE) from None
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
            raise TraceError(place, f"is cut off in line {error.lineno}", REWRITE) from None
        raise TraceError(place, f"is not JSON (line {error.lineno}: {error.msg})", "give an ITF file (JSON)") from None
    except (RecursionError, ValueError):
        raise TraceError(place, "is JSON beyond reason", "give an ITF file") from None
    if not isinstance(data, dict) or not isinstance(data.get("states"), list) or not isinstance(data.get("vars"), list):
        raise TraceError(place, "is not an ITF trace: it lacks lists 'vars' and 'states'", "give a file of `rocketproof check` or Apalache")
    rows = data["states"]
    try:
        decoded = [{str(k): _python(v) for k, v in row.items() if k != "#meta"} for row in _all_objects(place, rows)]
    except (ValueError, TypeError, RecursionError) as error:
        raise TraceError(place, f"holds a value that is not ITF ({error})", REWRITE) from None
    meta = data.get("#meta")
    ours = meta.get("rocketproof") if isinstance(meta, dict) else None
    facts = _facts(place, ours, len(decoded)) if ours is not None else _no_facts()
    return WitnessFile(
        place,
        facts["origin"],
        facts["property"],
        facts["kind"],
        facts["moves"],
        tuple(str(row.get(ACTION, "")) for row in decoded),
        tuple({k: v for k, v in row.items() if not k.startswith("mbt::")} for row in decoded),
        _loop(place, data.get("loop"), len(decoded)),
        facts["note"],
        facts["constants"],
    )


def _all_objects(place: str, rows: list[Any]) -> list[dict[str, Any]]:
    for k, row in enumerate(rows):
        if not isinstance(row, dict):
            raise TraceError(place, f"state {k} is {short(row)}, not an object", REWRITE)
    return rows


def _no_facts() -> dict[str, Any]:
    return {"origin": {}, "property": "", "kind": "", "moves": None, "note": "", "constants": {}}


def _loop(place: str, loop: Any, count: int) -> int | None:
    if isinstance(loop, dict):
        loop = _python(loop)
    if loop is None or (isinstance(loop, int) and not isinstance(loop, bool) and 0 <= loop < count):
        return loop
    raise TraceError(place, f"'loop' is {short(loop)}, no index of its {count} states", REWRITE)


def _facts(place: str, ours: Any, count: int) -> dict[str, Any]:
    """Our part of `#meta`, checked."""
    if not isinstance(ours, dict) or not isinstance(ours.get("schema"), int) or ours["schema"] < 1:
        raise TraceError(place, "'#meta.rocketproof' has no schema number", REWRITE)
    if ours["schema"] > SCHEMA:
        raise TraceError(place, f"has schema {ours['schema']}, this version reads up to {SCHEMA}", "update rocketproof")
    kinds: dict[str, tuple[type, str]] = {
        "property": (str, "a text"), "kind": (str, "a text"), "note": (str, "a text"),
        "origin": (dict, "an object"), "constants": (dict, "an object"), "moves": (list, "a list"),
    }  # fmt: skip
    for key, (kind, what) in kinds.items():
        if not isinstance(ours.get(key), kind):
            raise TraceError(place, f"'#meta.rocketproof.{key}' is not {what}", REWRITE)
    moves = []
    for k, move in enumerate(ours["moves"], 1):
        if not isinstance(move, dict) or not isinstance(move.get("action"), str) or not isinstance(move.get("args"), dict):
            raise TraceError(place, f"move {k} is {short(move)}, without action and args", REWRITE)
        moves.append(FileMove(move["action"], move["args"]))
    if len(moves) != max(0, count - 1):
        raise TraceError(place, f"has {len(moves)} moves but {count} states", REWRITE)
    return {**ours, "moves": tuple(moves)}


def _python(value: Any) -> Any:
    """A Python value of ITF JSON; raises ValueError or TypeError where it is none."""
    if isinstance(value, list):
        return tuple(_python(v) for v in value)
    if not isinstance(value, dict):
        return value
    if "#bigint" in value:
        return int(value["#bigint"])
    if "#tup" in value:
        return tuple(_python(v) for v in value["#tup"])
    if "#set" in value:
        return frozenset(_frozen(_python(v)) for v in value["#set"])
    if "#map" in value:
        return {_frozen(_python(k)): _python(v) for k, v in value["#map"]}
    if value.keys() == {"tag", "value"}:
        return Variant(value["tag"], _python(value["value"]))
    return {k: _python(v) for k, v in value.items() if k != "#meta"}


def _frozen(value: Any) -> Any:
    return tuple(sorted((k, _frozen(v)) for k, v in value.items())) if isinstance(value, dict) else value
