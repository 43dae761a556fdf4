"""In which share of a validation's programs an operation, an answer to one, a side of a boundary or a setting is.

Programs are drawn and read, which tells no answers, or are those that a validation has performed. Beside an earlier measurement the shares
become a picture, so that a change of the generators shows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from rocketproof_model import RocketproofError
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.boundaries import met
from rocketproof_properties.programs.pool import requests
from rocketproof_properties.programs.program import ProgramOptions, generate
from rocketproof_properties.programs.settings import settings_of
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.report import HISTORIES
from rocketproof_protocol import codes
from rocketproof_traces.history import read

from .figures import Bench, FigureColumn, Tell, table

PROFILE: Final = "P494"
KINDS: Final = ("operation", "answer", "boundary", "setting")
COLUMNS: Final = (
    FigureColumn("", "kind"),
    FigureColumn("of programs", "name"),
    FigureColumn("before", "before", ".2%"),
    FigureColumn("now", "now", ".2%"),
)
text = partial(table, COLUMNS)
_INK: Final = {"before": "#b0b0b0", "now": "#1f5fa8"}


def parts(steps: Iterable[Step], needs: str) -> set[tuple[str, str]]:
    """What a program has, by kind and name."""
    found = {("setting", name) for name in settings_of(needs)}
    for sent in requests(list(steps), PROFILES[PROFILE]):
        found.add(("operation", sent.op))
        found |= {("boundary", f"{name}, {side}") for name, side in met(sent)}
    return found


def drawn(count: int, seed: int) -> Iterator[set[tuple[str, str]]]:
    """Of the programs for a broker that can do everything."""
    for one in generate(ProgramOptions(PROFILE, count, seed, configure=True, start=True, end=True)):
        yield parts(one.steps, one.needs)


def performed(folder: Path) -> list[set[tuple[str, str]]]:
    """Of the programs that a validation has performed, of whatever version, by the histories in its report's folder. Raises InputError."""
    paths = sorted((folder / HISTORIES).glob("*.ndjson"))
    if not paths:
        raise InputError(f"--of {folder}: no histories; give the folder of a validation's report")
    found = []
    for path in paths:
        try:
            header, events = read(path)
            program: dict[str, Any] = header.origin["program"]
            of_program = parts(((name, args) for name, args in program["steps"]), program["needs"])
        except (RocketproofError, KeyError, TypeError, ValueError) as problem:
            raise InputError(f"--of {folder}: {path.name} is no history of a program ({problem})") from None
        answered = [(one.op, one.value["code"]) for one in events if one.type == "ok" and isinstance(one.value.get("code"), int)]
        found.append(of_program | {("answer", f"{op}: {code} {codes.ANSWERS.get(code, '')}".rstrip()) for op, code in answered})
    return found


def shares(programs: Iterable[set[tuple[str, str]]]) -> dict[tuple[str, str], float]:
    """In which share of them each is."""
    every = list(programs)
    return {key: times / len(every) for key, times in Counter(key for one in every for key in one).items()}


def measure(count: int, seed: int, of: Path | None, before: Path | None, *, tell: Tell, into: list[Bench]) -> None:
    """A row for each part of programs, the most frequent of its kind first; `before` is an earlier measurement, None where there is none.
    Raises InputError."""
    earlier: dict[tuple[str, str], float] = {}
    if before is not None:
        try:
            earlier = {(one["kind"], one["name"]): float(one["now"]) for one in json.loads(before.read_text("utf-8"))}
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise InputError(f"--before {before}: not what --json of this benchmark has written ({problem})") from None
    tell(f"{count} programs of seed {seed}" if of is None else f"programs of {of}")
    now = shares(drawn(count, seed) if of is None else performed(of))
    for kind, name in sorted({*now, *earlier}, key=lambda key: (KINDS.index(key[0]), -now.get(key, 0.0), key[1])):
        was = earlier.get((kind, name), 0.0) if before is not None else None
        into.append({"kind": kind, "name": name, "before": was, "now": now.get((kind, name), 0.0)})


def plot(rows: Sequence[Bench], path: Path) -> None:
    """The shares as bars, before and now, a panel for each kind. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "reach", "font.family": "sans-serif", "font.size": 8})
    of = {kind: found for kind in KINDS if (found := [one for one in rows if one["kind"] == kind])}
    figure, every = pyplot.subplots(1, len(of), figsize=(5 * len(of), 0.2 * max(map(len, of.values())) + 1.2), squeeze=False)
    for axes, kind in zip(every[0], of, strict=True):
        for nth, (series, color) in enumerate(_INK.items()):
            places = [place + 0.4 * nth - 0.2 for place in range(len(of[kind]))]
            shares_ = [100 * (one[series] or 0.0) for one in of[kind]]
            axes.barh(places, shares_, 0.4, color=color, label=series, clip_on=False)
        axes.set_yticks(range(len(of[kind])), [one["name"] for one in of[kind]])
        axes.set(title=f"{kind}: % of programs", ylim=(len(of[kind]) - 0.4, -0.6))
        axes.set_xscale("symlog", linthresh=0.1)
        axes.set_xticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
        axes.grid(axis="x", color="#e0e0e0")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    every[0][-1].legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
