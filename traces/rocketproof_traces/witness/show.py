"""Show a witness step by step: the actors, the changes, and the truth of the property along the way.

`witness_view` returns the data; `render` prints it. The actors' lanes are at the left, as in a sequence diagram (`●` acts, `○` is
involved), the changes next to them, the property's truth at the right. It is readable without colour.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console
from rich.text import Text

from rocketproof_model import EvaluationError, Variable
from rocketproof_model.interpreter import initial, starts_in
from rocketproof_model.result import Witness
from rocketproof_protocol.numbers import is_digits

from .parts import Acting, acting, concerned, in_order
from .truth import NOT_YET, WAITING, Truth, truths, waits
from .words import ElementChange, change_lines, changes, fill

SHOWN: Final[Mapping[str, str]] = {
    "always": "fails",
    "step": "fails",
    "reachable": "reached",
    "leads_to": "waiting",
    "eventually_always": NOT_YET,
    "until": "fails",
    "weak_until": "fails",
    "within": "fails",
    "deadlock_free": "stuck",
}
"""The word of `truths` for a state that shows the property, by the property's kind. A lemma has no states."""
_NONE = "these steps are no counterexample"


@dataclass(frozen=True)
class StepView:
    """One step. Number 0 is the initial state of the witness, with its differences from the model's first initial state.

    `property_truth` is the truth of the property after the step, and `truth` its word (`Truth.word`). `in_loop` marks the steps that repeat
    for ever, `opens_loop` the first of them. `acting` is None for number 0.
    """

    number: int
    label: str
    sentence: str
    acting: Acting | None
    changes: tuple[ElementChange, ...]
    property_truth: Truth
    in_loop: bool = False
    opens_loop: bool = False

    @property
    def truth(self) -> str:
        return self.property_truth.word

    @property
    def lane(self) -> str:
        """The acting part, empty for the initial state."""
        return self.acting.by if self.acting else ""


@dataclass(frozen=True)
class WitnessView:
    """The steps of a witness and their common data. `lanes` are the parts that act and those that the property refers to. `names` are
    the actions and variables that occur, each with its sentence."""

    title: str
    sentence: str
    lanes: tuple[str, ...]
    steps: tuple[StepView, ...]
    loop: str
    end: str
    note: str
    names: tuple[tuple[str, str], ...] = ()


def steps(witness: Witness) -> list[StepView]:
    """Return the initial state and a view of each move; empty for a witness without states."""
    if not witness.states:
        return []
    instance, model = witness.instance, witness.instance.model
    words = truths(witness)
    views = [_start(witness, words[0])]
    for k, move in enumerate(witness.moves, 1):
        action = model.named(move.action)
        moved = changes(instance, witness.states[k - 1], witness.states[k])
        looping = witness.loop is not None and k > witness.loop
        views.append(
            StepView(
                number=k,
                label=action.label(move.args),
                sentence=action.sentence,
                acting=acting(instance, witness.states[k - 1], action, move.args),
                changes=moved,
                property_truth=words[k],
                in_loop=looping,
                opens_loop=looping and k == (witness.loop or 0) + 1,
            )
        )
    return views


def _start(witness: Witness, property_truth: Truth) -> StepView:
    try:
        first = initial(witness.instance)
    except EvaluationError:
        first = witness.states[0]
    odd = changes(witness.instance, first, witness.states[0])
    return StepView(
        0,
        "initial state" if not odd or starts_in(witness.instance, witness.states[0]) else "starts elsewhere",
        "",
        None,
        odd,
        property_truth,
    )


def witness_view(witness: Witness) -> WitnessView:
    """Return everything that `render` and the picture show."""
    views = steps(witness)
    claim = witness.property
    title = f"{claim.id} ({claim.declared.replace('_', ' ')})"
    lanes = tuple(lanes_of(witness, views))
    return WitnessView(
        title, claim.sentence, lanes, tuple(views), _loop(witness), _end(witness, views), witness.note, tuple(_names(witness, views))
    )


def lanes_of(witness: Witness, views: Sequence[StepView]) -> list[str]:
    """Return the parts that the steps involve and those that the property refers to; none if there are no steps."""
    involved = {name for v in views if v.acting for name in (v.acting.by, v.acting.to, v.acting.source) if name}
    return in_order(witness.instance.model, involved | concerned(witness.instance.model, witness.property)) if involved else []


def _names(witness: Witness, views: Sequence[StepView]) -> Iterator[tuple[str, str]]:
    """Yield the taken actions, then the changed variables, with their sentences; for a table also those of its columns."""
    model = witness.instance.model
    taken = {move.action for move in witness.moves}
    yield from ((action.name, action.sentence) for action in model.actions if action.name in taken)
    changed = {change.variable for view in views for change in view.changes}
    tables: dict[str, list[Variable]] = {}
    for variable in model.variables:
        if variable in changed and variable.meaning:
            tables.setdefault(variable.name.partition(".")[0], []).append(variable)
    for name, columns in tables.items():
        details = [f"{column.name.partition('.')[2]}: {column.detail}" for column in columns if column.detail]
        yield name, "; ".join(text for text in (columns[0].sentence, *details) if text)


def _loop(witness: Witness) -> str:
    if witness.loop is None:
        return ""
    first, last = witness.loop + 1, len(witness.moves)
    if first > last:
        return f"after step {last} nothing changes any more, for ever" if last else "nothing ever changes"
    return f"from here step {first} repeats for ever" if first == last else f"from here the steps {first}-{last} repeat for ever"


def _end(witness: Witness, views: Sequence[StepView]) -> str:
    if not views:
        return "a statement about values, without a path"
    id_, kind = witness.property.id, witness.property.kind
    word = None if kind == "leads_to" else SHOWN.get(kind)  # a waiting element may be served later, so the last state decides
    last = next((view for view in views if view.truth == word), views[-1])
    where = "in the initial state" if last.number == 0 else f"after step {last.number}"
    if kind == "eventually_always":
        again = witness.loop is not None and any(view.truth == NOT_YET for view in views[witness.loop :])
        return f"{id_} fails again and again, for ever" if again else f"{id_} holds from some state on: {_NONE}"
    return {
        "fails": f"{id_} fails in step {last.number}" if kind == "step" else f"{id_} fails {where}",
        "holds": f"{id_} holds all the way: {_NONE}",
        "reached": f"{id_} is reached {where}" if kind == "reachable" else f"{id_} holds: what it waits for is reached {where}; {_NONE}",
        "not yet": f"{id_} is not reached",
        "stuck": f"{where} nothing can happen any more",
        "may end": f"{id_} holds: it may end {where}; {_NONE}",
        "goes on": f"{id_} holds: {where} something can happen; {_NONE}",
        "waiting": f"{id_} waits for ever" if witness.loop is not None else f"{id_} still waits {where}",
        "not asked": f"{id_} holds: nothing is waited for {where}; {_NONE}",
    }.get(WAITING if waits(last.truth) else last.truth, "")


# Printing


@dataclass(frozen=True)
class Glyphs:
    acts: str = "●"
    other: str = "○"
    idle: str = "│"
    line: str = "─"
    right: str = "▶"
    left: str = "◀"
    becomes: str = "→"
    opens: str = "┌"
    inside: str = "│"
    closes: str = "└"
    wrap: str = "…"


PLAIN = Glyphs("*", "o", "|", "-", ">", "<", "->", "+", "|", "+", "...")
GAP = 2
GUTTER = 7  # for the bracket round a loop and the step's number
LEAST, WIDEST = 30, 76  # shorter lines of changes need a screen per step, longer lines are hard to read


def _style(truth: str) -> str:
    return _STYLE.get(WAITING if waits(truth) else truth, "")


_STYLE = {"fails": "bold red", "stuck": "bold red", "waiting": "yellow", "holds": "green", "reached": "bold green", "no value": "bold red"}


def render(view: WitnessView, console: Console, more: str = "") -> None:
    """Print a witness to the console's width. `more` is the command that shows more, as the last line."""
    console.print(Text(view.title, style="bold"), soft_wrap=True)
    _wrapped(console, view.sentence)
    if view.steps:
        console.print()
        for line in _body(view, console):
            console.print(line, soft_wrap=True)
        console.print()
    for text in (view.end, view.note):
        if text:
            _wrapped(console, text)
    if view.names:
        console.print()
        for name, sentence in view.names:
            for k, text in enumerate(fill(f"{name}: {sentence}".split(), max(console.width - 2, 1))):
                console.print(Text(("  " if k else "") + text, style="dim"), soft_wrap=True)
        console.print()
    if more:
        console.print(Text(more, style="dim"), soft_wrap=True)


def _wrapped(console: Console, text: str) -> None:
    for line in fill(text.split(), console.width):
        console.print(Text(line), soft_wrap=True)


@dataclass(frozen=True)
class Columns:
    """The layout: the printed names and middles of lanes, and the widths of the text and the truth.

    If there is no room for a truth column, `truth` is 0, and the truth is printed below each step that changes it.
    """

    names: tuple[str, ...]
    middles: tuple[int, ...]
    lanes: int
    text: int
    truth: int


def _columns(witness: WitnessView, width: int) -> Columns:
    """Return the first layout that leaves enough room for the text: full lane names, shortened names, shortened names without a truth
    column, no lanes."""
    words = [len(view.truth) for view in witness.steps if view.truth]
    truth = max(*words, len("property")) if words else 0
    short, enough = _shortened(witness.lanes), max(LEAST, min(width * 2 // 5, WIDEST // 2))
    for names, truth_width in ((witness.lanes, truth), (short, truth), (short, 0), ((), truth)):
        columns = _arranged(names, truth_width, width)
        if columns.text >= enough:
            return columns
    return _arranged((), 0, width)


def _arranged(names: Sequence[str], truth: int, width: int) -> Columns:
    middles, at = [], 0
    for name in names:
        middles.append(at + (len(name) - 1) // 2)
        at += len(name) + GAP
    text = min(width - GUTTER - at - (truth + GAP if truth else 0), WIDEST)
    return Columns(tuple(names), tuple(middles), at, max(text, 8), truth)


def _shortened(lanes: Sequence[str]) -> tuple[str, ...]:
    """Return `P0` for `Producer 0`, `ba` for `broker-a`: the initials of a name's words, with as many letters of the first word as
    needed to tell the lanes apart."""
    for size in range(1, 20):
        names = tuple(_initials(name, size) for name in lanes)
        if len(set(names)) == len(names):
            return names
    return tuple(lanes)


def _initials(name: str, size: int) -> str:
    first, *others = re.split(r"[ _-]+", name)
    return first[:size] + "".join(word if is_digits(word) else word[:1] for word in others)


def _body(witness: WitnessView, console: Console) -> list[Text]:
    glyphs = PLAIN if console.options.ascii_only else Glyphs()
    columns = _columns(witness, console.width)
    lines = [_line("", "step", _header(columns), "", "property" if columns.truth else "", columns)]
    if columns.names != witness.lanes and columns.names:
        key = ", ".join(f"{s} = {name}" for s, name in zip(columns.names, witness.lanes, strict=True))
        lines = [*(Text(part) for part in fill(key.split(), console.width)), Text(""), *lines]
    last, truth = witness.steps[-1].number, ""
    for view in witness.steps:
        if view.opens_loop:
            for k, text in enumerate(fill(witness.loop.split(), columns.text)):
                lines.append(_line(glyphs.inside if k else glyphs.opens, "", _idle(columns, glyphs), text, "", columns, "bold yellow"))
        shown = view if columns.names or not view.lane else replace(view, label=f"{view.lane}: {view.label}")
        gutter = glyphs.inside if view.in_loop else ""
        texts = _texts(shown, columns.text, glyphs)
        below = not columns.truth and view.truth != truth
        if below:
            truth = view.truth
            texts += [f"  {part}" for part in fill(f"property: {truth}".split(), columns.text - 2)]
        for k, text in enumerate(texts):
            closing = glyphs.closes if view.in_loop and view.number == last and k == len(texts) - 1 else gutter
            lanes = _acting(view, witness.lanes, columns, glyphs) if k == 0 else _idle(columns, glyphs)
            number, beside = (str(view.number), view.truth) if k == 0 else ("", "")
            style = "bold" if k == 0 and view.number else _style(truth) if below and k == len(texts) - 1 else ""
            lines.append(_line(closing, number, lanes, text, beside if columns.truth else "", columns, style))
    if witness.loop and not witness.steps[-1].in_loop:
        for text in fill(witness.loop.split(), columns.text):
            lines.append(_line("", "", _idle(columns, glyphs), text, "", columns, "bold yellow"))
    return lines


def _texts(view: StepView, width: int, glyphs: Glyphs) -> list[str]:
    first, *more = fill(view.label.split(), width - 2)
    label = [first, *(f"  {part}" for part in more)]
    if view.number == 0:
        moved = fill([f"{c.name} = {c.after}" for c in view.changes], width - 2, "   ")
    else:
        moved = change_lines(view.changes, width - 2, glyphs.becomes, flow=True) or fill(["nothing", "changes"], width - 2)
    return [*label, *("  " + line for line in moved)]


def _header(columns: Columns) -> str:
    return "".join(name + " " * GAP for name in columns.names)


def _idle(columns: Columns, glyphs: Glyphs) -> str:
    row = [" "] * columns.lanes
    for at in columns.middles:
        row[at] = glyphs.idle
    return "".join(row)


def _acting(view: StepView, lanes: Sequence[str], columns: Columns, glyphs: Glyphs) -> str:
    row = list(_idle(columns, glyphs))
    where = dict(zip(lanes, columns.middles, strict=False))
    if view.acting is None or view.lane not in where:
        return "".join(row)
    middle = where[view.lane]
    for start, end in ((view.acting.source, view.lane), (view.lane, view.acting.to)):
        if start in where and end in where and start != end:
            _arrow(row, where[start], where[end], glyphs)
    row[middle] = glyphs.acts
    return "".join(row)


def _arrow(row: list[str], start: int, end: int, glyphs: Glyphs) -> None:
    """Draw a message from one lane to another. The mark of the acting part at one of the ends is drawn later."""
    step = 1 if end > start else -1
    for at in range(start, end, step):
        row[at] = glyphs.line
    row[start] = row[end] = glyphs.other
    if abs(end - start) > 1:
        row[end - step] = glyphs.right if step > 0 else glyphs.left


def _line(gutter: str, number: str, lanes: str, text: str, truth: str, columns: Columns, style: str = "") -> Text:
    line = Text(f"{gutter:<2}{number:>4} ", style="dim")
    line.append(lanes, style="cyan")
    line.append(text.ljust(columns.text) if truth else text, style=style)
    if truth:
        line.append(" " * GAP + truth, style=_style(truth))
    line.rstrip()
    return line
