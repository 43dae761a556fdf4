"""A witness as a story: who did what, only what changed, and whether the property held along the way.

`story` is the data; `render` prints it. The lanes of the actors stand at the left like the lines of a sequence diagram
(`●` acts, `○` is involved), what happened beside them, the property's truth at the right. No colour is needed to read it.
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
"""The word of `truths` for a state that shows the property, by the property's kind; a lemma speaks of no state."""
_NONE = "these steps are no counterexample"


@dataclass(frozen=True)
class StepView:
    """One step; number 0 is the state that the story starts in, with what sets it apart from the model's first initial one.

    `said` is what is said of the property after the step, `truth` its word (`holds`, `fails`; `not yet`, `reached`;
    `not asked`, `waiting`, `reached`; `goes on`, `may end`, `stuck`; empty where there is nothing to say).
    `in_loop` marks the steps that repeat for ever, `opens_loop` the first of them. `acting` is None for number 0.
    """

    number: int
    label: str
    sentence: str
    acting: Acting | None
    changes: tuple[ElementChange, ...]
    said: Truth
    in_loop: bool = False
    opens_loop: bool = False

    @property
    def truth(self) -> str:
        return self.said.word

    @property
    def lane(self) -> str:
        """Who acts, "" in the state that the story starts in."""
        return self.acting.by if self.acting else ""


@dataclass(frozen=True)
class WitnessStory:
    """The steps with what belongs to all of them. `lanes` are the parts that act, and those that the property speaks of; `names` are the
    actions and variables that occur, each with its sentence."""

    title: str
    sentence: str
    lanes: tuple[str, ...]
    steps: tuple[StepView, ...]
    loop: str
    end: str
    note: str
    names: tuple[tuple[str, str], ...] = ()


def steps(witness: Witness) -> list[StepView]:
    """The start and then a view of each move; empty for a witness without states."""
    if not witness.states:
        return []
    instance, model = witness.instance, witness.instance.model
    said = truths(witness)
    views = [_start(witness, said[0])]
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
                said=said[k],
                in_loop=looping,
                opens_loop=looping and k == (witness.loop or 0) + 1,
            )
        )
    return views


def _start(witness: Witness, said: Truth) -> StepView:
    try:
        first = initial(witness.instance)
    except EvaluationError:
        first = witness.states[0]
    odd = changes(witness.instance, first, witness.states[0])
    return StepView(
        0, "initial state" if not odd or starts_in(witness.instance, witness.states[0]) else "starts elsewhere", "", None, odd, said
    )


def story(witness: Witness) -> WitnessStory:
    """Everything that `render` and the picture show."""
    views = steps(witness)
    claim = witness.property
    title = f"{claim.id} ({claim.declared.replace('_', ' ')})"
    lanes = tuple(lanes_of(witness, views))
    return WitnessStory(
        title, claim.sentence, lanes, tuple(views), _loop(witness), _end(witness, views), witness.note, tuple(_names(witness, views))
    )


def lanes_of(witness: Witness, views: Sequence[StepView]) -> list[str]:
    """The parts that the steps involve, and those that the property speaks of, though they may do nothing; none where nothing happens."""
    involved = {name for v in views if v.acting for name in (v.acting.by, v.acting.to, v.acting.source) if name}
    return in_order(witness.instance.model, involved | concerned(witness.instance.model, witness.property)) if involved else []


def _names(witness: Witness, views: Sequence[StepView]) -> Iterator[tuple[str, str]]:
    """The actions that are taken, then the variables that change, with their sentences; of a table also those of its columns."""
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
    told = None if kind == "leads_to" else SHOWN.get(kind)  # who waits may be served later: there the end decides
    last = next((view for view in views if view.truth == told), views[-1])
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
LEAST, WIDEST = 30, 76  # shorter lines of changes need a screen a step, longer ones are hard to read


def _style(truth: str) -> str:
    return _STYLE.get(WAITING if waits(truth) else truth, "")


_STYLE = {"fails": "bold red", "stuck": "bold red", "waiting": "yellow", "holds": "green", "reached": "bold green", "no value": "bold red"}


def render(told: WitnessStory, console: Console, more: str = "") -> None:
    """Print a story to the console's width; `more` is the command that shows more, the last line."""
    console.print(Text(told.title, style="bold"), soft_wrap=True)
    _wrapped(console, told.sentence)
    if told.steps:
        console.print()
        for line in _body(told, console):
            console.print(line, soft_wrap=True)
        console.print()
    for text in (told.end, told.note):
        if text:
            _wrapped(console, text)
    if told.names:
        console.print()
        for name, sentence in told.names:
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
    """Where things stand: the lanes' names as printed and their middles, the widths of the text and of the truth.

    Without room for a column of its own `truth` is 0, and the truth stands below a step that changes it.
    """

    names: tuple[str, ...]
    middles: tuple[int, ...]
    lanes: int
    text: int
    truth: int


def _columns(told: WitnessStory, width: int) -> Columns:
    """The first that leaves the text enough room: lanes by their names, shortened ones, these without the truth's column, none."""
    words = [len(view.truth) for view in told.steps if view.truth]
    truth = max(*words, len("property")) if words else 0
    short, enough = _shortened(told.lanes), max(LEAST, min(width * 2 // 5, WIDEST // 2))
    for names, beside in ((told.lanes, truth), (short, truth), (short, 0), ((), truth)):
        found = _arranged(names, beside, width)
        if found.text >= enough:
            return found
    return _arranged((), 0, width)


def _arranged(names: Sequence[str], truth: int, width: int) -> Columns:
    middles, at = [], 0
    for name in names:
        middles.append(at + (len(name) - 1) // 2)
        at += len(name) + GAP
    text = min(width - GUTTER - at - (truth + GAP if truth else 0), WIDEST)
    return Columns(tuple(names), tuple(middles), at, max(text, 8), truth)


def _shortened(lanes: Sequence[str]) -> tuple[str, ...]:
    """`P0` for `Producer 0`, `ba` for `broker-a`: the first letters of a name's words, as many of the first as tell the lanes apart."""
    for size in range(1, 20):
        names = tuple(_initials(name, size) for name in lanes)
        if len(set(names)) == len(names):
            return names
    return tuple(lanes)


def _initials(name: str, size: int) -> str:
    first, *others = re.split(r"[ _-]+", name)
    return first[:size] + "".join(word if is_digits(word) else word[:1] for word in others)


def _body(told: WitnessStory, console: Console) -> list[Text]:
    glyphs = PLAIN if console.options.ascii_only else Glyphs()
    columns = _columns(told, console.width)
    lines = [_line("", "step", _header(columns), "", "property" if columns.truth else "", columns)]
    if columns.names != told.lanes and columns.names:
        key = ", ".join(f"{s} = {name}" for s, name in zip(columns.names, told.lanes, strict=True))
        lines = [*(Text(part) for part in fill(key.split(), console.width)), Text(""), *lines]
    last, truth = told.steps[-1].number, ""
    for view in told.steps:
        if view.opens_loop:
            for k, text in enumerate(fill(told.loop.split(), columns.text)):
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
            lanes = _acting(view, told.lanes, columns, glyphs) if k == 0 else _idle(columns, glyphs)
            number, beside = (str(view.number), view.truth) if k == 0 else ("", "")
            style = "bold" if k == 0 and view.number else _style(truth) if below and k == len(texts) - 1 else ""
            lines.append(_line(closing, number, lanes, text, beside if columns.truth else "", columns, style))
    if told.loop and not told.steps[-1].in_loop:
        for text in fill(told.loop.split(), columns.text):
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
    """Draw a message from one lane to another; who acts stands at one of its ends and is drawn later."""
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
