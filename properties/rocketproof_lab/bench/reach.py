"""Measure which share of a validation's programs contains an operation, an answer, a boundary side or a setting.

Programs are generated, which gives no answers, or are taken from a validation. A picture compares the shares with an earlier measurement
and so shows the effect of a change of the generators.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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

from .figures import Bench, FigureColumn, FigureTable, Tell, benchmark

PROFILE: Final = "P494"
KINDS: Final = ("operation", "answer", "boundary", "setting")
TABLE: Final = FigureTable(
    (
        FigureColumn("", "kind"),
        FigureColumn("of programs", "name"),
        FigureColumn("before", "before", ".2%"),
        FigureColumn("now", "now", ".2%"),
    )
)
_INK: Final = {"before": "#b0b0b0", "now": "#1f5fa8"}


def parts(steps: Iterable[Step], needs: str) -> set[tuple[str, str]]:
    """Return the parts of a program, by kind and name."""
    names = {("setting", name) for name in settings_of(needs)}
    for sent in requests(list(steps), PROFILES[PROFILE]):
        names.add(("operation", sent.op))
        names |= {("boundary", f"{name}, {side}") for name, side in met(sent)}
    return names


def drawn(count: int, seed: int) -> Iterator[set[tuple[str, str]]]:
    """Yield the parts of generated programs for a broker with all capabilities."""
    for program in generate(ProgramOptions(PROFILE, count, seed, configure=True, start=True, end=True)):
        yield parts(program.steps, program.needs)


def performed(folder: Path) -> list[set[tuple[str, str]]]:
    """Return the parts of the programs that a validation of any version performed, from the histories in its report's folder. Raises
    InputError."""
    paths = sorted((folder / HISTORIES).glob("*.ndjson"))
    if not paths:
        raise InputError(f"--of {folder}: no histories; give the folder of a validation's report")
    programs = []
    for path in paths:
        try:
            header, events = read(path)
            program: dict[str, Any] = header.origin["program"]
            of_program = parts(((name, args) for name, args in program["steps"]), program["needs"])
        except (RocketproofError, KeyError, TypeError, ValueError) as problem:
            raise InputError(f"--of {folder}: {path.name} is no history of a program ({problem})") from None
        answered = [(event.op, event.value["code"]) for event in events if event.type == "ok" and isinstance(event.value.get("code"), int)]
        programs.append(of_program | {("answer", f"{op}: {code} {codes.ANSWERS.get(code, '')}".rstrip()) for op, code in answered})
    return programs


def shares(programs: Iterable[set[tuple[str, str]]]) -> dict[tuple[str, str], float]:
    """Return the share of programs that contain each part."""
    every = list(programs)
    return {key: times / len(every) for key, times in Counter(key for parts_ in every for key in parts_).items()}


@benchmark
def measure(count: int, seed: int, of: Path | None, before: Path | None, *, tell: Tell) -> Iterator[Bench]:
    """Return one row per part of programs, the most frequent of its kind first. `before` is an earlier measurement. Raises InputError."""
    earlier: dict[tuple[str, str], float] = {}
    if before is not None:
        try:
            earlier = {(figures["kind"], figures["name"]): float(figures["now"]) for figures in json.loads(before.read_text("utf-8"))}
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise InputError(f"--before {before}: not what --json of this benchmark has written ({problem})") from None
    tell(f"{count} programs of seed {seed}" if of is None else f"programs of {of}")
    now = shares(drawn(count, seed) if of is None else performed(of))
    for kind, name in sorted({*now, *earlier}, key=lambda key: (KINDS.index(key[0]), -now.get(key, 0.0), key[1])):
        was = earlier.get((kind, name), 0.0) if before is not None else None
        yield {"kind": kind, "name": name, "before": was, "now": now.get((kind, name), 0.0)}


def plot(rows: Sequence[Bench], path: Path) -> None:
    """Draw the shares as bars, before and now, one panel per kind. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "reach", "font.family": "sans-serif", "font.size": 8})
    rows_of = {kind: kind_rows for kind in KINDS if (kind_rows := [figures for figures in rows if figures["kind"] == kind])}
    figure, every = pyplot.subplots(1, len(rows_of), figsize=(5 * len(rows_of), 0.2 * max(map(len, rows_of.values())) + 1.2), squeeze=False)
    for axes, kind in zip(every[0], rows_of, strict=True):
        for nth, (series, color) in enumerate(_INK.items()):
            places = [place + 0.4 * nth - 0.2 for place in range(len(rows_of[kind]))]
            shares_ = [100 * (figures[series] or 0.0) for figures in rows_of[kind]]
            axes.barh(places, shares_, 0.4, color=color, label=series, clip_on=False)
        axes.set_yticks(range(len(rows_of[kind])), [figures["name"] for figures in rows_of[kind]])
        axes.set(title=f"{kind}: % of programs", ylim=(len(rows_of[kind]) - 0.4, -0.6))
        axes.set_xscale("symlog", linthresh=0.1)
        axes.set_xticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
        axes.grid(axis="x", color="#e0e0e0")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    every[0][-1].legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
