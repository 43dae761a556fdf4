"""Exit codes and types of options that several commands share.

A type rejects a wrong value while the command line is parsed, before the command starts. A ValueError is printed in one line that begins
with the option's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter, Token

from rocketproof_model import interrupts

from ..reports.choices import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from rocketproof_traces.spark.cluster import SparkCluster

    from ..reports.tables import TableTarget

INVOKED: ContextVar[str] = ContextVar("INVOKED", default="")
"""The command line that is being run."""

Many = Parameter(negative=(), consume_multiple=False, show_default=False)


def _positive(_: Any, value: float | None) -> None:
    if value is not None and not 0 < value < float("inf"):
        raise ValueError(f"{value:g} is not a positive number; give more than 0")


def _level(_: Any, value: int | None) -> None:
    from ..validation.levels import LEVELS

    if value is not None and not 1 <= value <= len(LEVELS):
        names = ", ".join(f"{number} {level.name}" for number, level in enumerate(LEVELS, 1))
        raise ValueError(f"{value} is no level; there are {names}")


def _not_negative(_: Any, value: float | None) -> None:
    if value is not None and value < 0:
        raise ValueError(f"{value:g} is negative; give 0 or more")


def _property_of_spark(_: Any, texts: Sequence[str]) -> None:
    from rocketproof_traces.spark.cluster import properties_of

    properties_of(texts)


def _known_profile(_: Any, tokens: Sequence[Token]) -> str:
    from ..brokers.forms import profile_named

    return profile_named(tokens[0].value)


def _writable(_: Any, path: Path | None) -> None:
    from ..reports.files import check_writable

    if path is not None:
        check_writable(path)


def _pages(_: Any, path: Path | None) -> None:
    if path is not None and path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file; give a folder for the pages")


def _tables(_: Any, place: str | None) -> None:
    if place is not None and (place.startswith("-") or not place):
        raise ValueError(f"{place or 'nothing'} is no folder; give a folder, a URL, or table:NAMESPACE")


Count = Annotated[int, Parameter(validator=_positive)]
Level = Annotated[int, Parameter(validator=_level)]
"""A level of broker maturity (`validation.levels`)."""
Seconds = Annotated[float, Parameter(validator=_positive)]
Gibibytes = Annotated[float, Parameter(validator=_positive)]
Natural = Annotated[int, Parameter(validator=_not_negative)]
NotNegative = Annotated[float, Parameter(validator=_not_negative)]
Profile = Annotated[str, Parameter(converter=_known_profile)]
Json = Annotated[Path | None, Parameter(validator=_writable)]
"""A file for the results. The type checks that it can be written, before a long run starts."""
Pages = Annotated[Path | None, Parameter(name="--html", validator=_pages)]
"""A folder for HTML pages."""
Conf = Annotated[
    tuple[str, ...],
    Parameter(help="A property of Spark as KEY=VALUE, such as spark.executor.memory=4g; may be repeated.", validator=_property_of_spark),
    Many,
]
Environment = Annotated[
    Path | None,
    Parameter(help="An archive of conda-pack or venv-pack for the workers of a cluster. Its bin/python runs the tasks."),
]
INTERVAL: Final = 1.0
"""Seconds between two looks of --follow, unless the user gives another number."""
Tables = Annotated[str | None, Parameter(validator=_tables)]
"""Where result tables are: a folder, a URL, or table:NAMESPACE."""
TableFormat = Annotated[
    str,
    Parameter(help="The format of --tables: parquet, or one that the Spark session knows, such as delta or iceberg."),
]
Settings = Annotated[tuple[str, ...], Parameter(name="--set"), Many]
Flag = Annotated[bool, Parameter(negative=())]
All = Annotated[bool, Parameter(name="--all", negative=())]


def write(json: Path | None, data: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> None:
    """Write the results to the file of --json, if given.

    From this point on, a signal no longer ends the command before the results are written. Raises InputError if the file cannot be written.
    """
    interrupts.decide()
    if json is not None:
        from ..reports.files import write_json

        write_json(json, data)


def tables_of(place: str | None, format_: str, cluster: SparkCluster, engine: str | None) -> TableTarget | None:
    """Return the target of --tables and --format; None without --tables. Raises InputError if the engine cannot write it."""
    if place is None:
        if format_ != "parquet":
            raise InputError(f"--format {format_} without --tables; give the tables that it is for")
        return None
    from rocketproof_traces.spark.appending import append

    from ..reports.tables import TableTarget

    def by_spark(rows: pa.Table, format_: str, **where: str) -> None:
        append(cluster.session(), rows, format_, **where)

    target = TableTarget(place, format_, by_spark)
    target.check(engine)
    return target


def without_follow(**given: object) -> None:
    """Raise InputError for an option of --follow that is given without it."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise InputError(f"--{name} without --follow; add --follow, or leave it out")


def needs_pytest(command: str) -> None:
    """Raise InputError if pytest is not installed. It is no dependency, because only commands that run the project's tests need it."""
    if find_spec("pytest") is None:
        raise InputError(f"{command} runs tests and needs pytest; `pip install pytest` (in a clone `uv run --group test rocketproof ...`)")
