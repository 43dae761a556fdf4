"""A witness as a picture: a self-contained sequence diagram in SVG.

Each actor has a vertical line, each step a row: a box on the line of the acting part, and an arrow to another involved actor. The changes
are next to it, the property's truth at the right, and at the left a bracket around the steps that repeat for ever. All sizes follow from
the text in a monospaced font, so equal witnesses give equal pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

from rocketproof_model.result import Witness

from .show import StepView, WitnessView, witness_view
from .truth import WAITING, waits
from .words import change_lines, fill

CHAR, LINE = 7.3, 17  # of the font below, in pixels
PAD, HEAD, ROW, BOX = 24, 44, 14, 26
MAX_CHANGE, MAX_LABEL = 58, 24
_INK = {"fails": "#b3261e", "stuck": "#b3261e", "no value": "#b3261e", "waiting": "#8a5a00", "holds": "#1a6b3c", "reached": "#1a6b3c"}
_STYLE = (
    "text{font:12px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1f2328}"
    ".h{font-weight:bold;font-size:14px}.s{fill:#57606a}.b{font-weight:bold}"
)


@dataclass(frozen=True)
class PicturePlaces:
    """Horizontal positions in pixels: room for the bracket, the middle of each lane, the left edges of changes and truth."""

    gutter: float
    lanes: dict[str, float]
    text: float
    truth: float
    width: float


def svg(witness: Witness) -> str:
    """Return the picture of a witness as SVG text."""
    view = witness_view(witness)
    place = _place(view)
    wrap = max(40, int((place.width - 2 * PAD) / CHAR))
    body: list[str] = []
    y = float(PAD)
    for k, text in enumerate([view.title, *fill(view.sentence.split(), wrap)]):
        y += LINE + (2 if k == 0 else 0)
        body.append(_text(PAD, y, text, "h" if k == 0 else ""))
    if view.steps:
        y = _rows(view, place, y + 20, body)
    for text in [view.end, *fill(view.note.split(), wrap)]:
        if text:
            y += LINE
            body.append(_text(PAD, y, text, "b" if text == view.end else "s"))
    height = y + PAD
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(place.width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(place.width)} {_n(height)}" role="img">'
    )
    return "\n".join(
        [head, f"<title>{escape(view.title)}: {escape(view.sentence)}</title>", f"<style>{_STYLE}</style>",
         f'<rect width="{_n(place.width)}" height="{_n(height)}" fill="#ffffff"/>', *body, "</svg>"]
    ) + "\n"  # fmt: skip


def _place(view: WitnessView) -> PicturePlaces:
    gutter = 20.0 if view.loop else 0.0
    left = PAD + gutter + 20
    widest = {name: len(name) * CHAR + 20 for name in view.lanes}
    for step in view.steps:
        if step.lane in widest:
            widest[step.lane] = max(widest[step.lane], _box(step)[0])
    lanes: dict[str, float] = {}
    edge = left
    for k, (name, size) in enumerate(widest.items()):
        edge += 36 if k else 8
        lanes[name] = round(edge + size / 2, 1)
        edge += size
    text = edge + 28
    changes = max([len(line) for step in view.steps for line in _changes(step)] + [len(view.loop), len("what changes")])
    truth = text + changes * CHAR + 24
    width = truth + max([len(step.truth) for step in view.steps] + [8]) * CHAR + PAD
    return PicturePlaces(
        gutter, lanes, round(text, 1), round(truth, 1), round(max(width, 420, PAD * 2 + min(len(view.sentence), 80) * CHAR), 1)
    )


def _label(view: StepView) -> list[str]:
    """Return the label in lines: a long label has its parameters below its action."""
    if len(view.label) <= MAX_LABEL:
        return [view.label]
    action, opens, arguments = view.label.partition("(")
    *others, last = arguments.split(", ")
    return [action + opens, *fill([*(f"{argument}," for argument in others), last], MAX_LABEL)]


def _box(view: StepView) -> tuple[float, float]:
    """Return width and height of the box with the label."""
    lines = _label(view)
    return max(map(len, lines)) * CHAR + 20, BOX + (len(lines) - 1) * LINE


def _changes(view: StepView) -> list[str]:
    if view.number == 0:
        return [view.label, *fill([f"{c.name} = {c.after}" for c in view.changes], MAX_CHANGE, "   ")]
    return change_lines(view.changes, MAX_CHANGE, "→", flow=False) or ["nothing changes"]


def _rows(witness: WitnessView, place: PicturePlaces, top: float, body: list[str]) -> float:
    """Draw the diagram from `top` and return its lower end."""
    heights = [max(_box(v)[1], len(_changes(v)) * LINE) + ROW for v in witness.steps]
    opening = [LINE + 6 if v.opens_loop else 0 for v in witness.steps]
    bottom = top + HEAD + sum(heights) + sum(opening)
    for name, x in place.lanes.items():
        size = len(name) * CHAR + 20
        body.append(f'<line x1="{_n(x)}" y1="{_n(top + 28)}" x2="{_n(x)}" y2="{_n(bottom)}" stroke="#d0d7de" stroke-width="1.5"/>')
        body.append(_rect(x - size / 2, top, size, 28, "#f6f8fa", "#8c959f"))
        body.append(_text(x, top + 18, name, "b", "middle"))
    body.append(_text(place.text, top + 18, "what changes", "s"))
    if any(v.truth for v in witness.steps):
        body.append(_text(place.truth, top + 18, "property", "s"))
    y, loop_top = top + HEAD, 0.0
    for k, (view, height, extra) in enumerate(zip(witness.steps, heights, opening, strict=True)):
        if view.opens_loop:
            loop_top = y
            body.append(_text(place.text, y + LINE - 4, witness.loop, "b", fill="#8a5a00"))
        if k:
            rule = f'x1="{_n(PAD + place.gutter)}" x2="{_n(place.width - PAD)}" stroke="#eaeef2"'
            body.append(f'<line y1="{_n(y)}" y2="{_n(y)}" {rule}/>')
        y += extra
        _row(view, place, y, height, body)
        y += height
    if witness.loop:
        body.append(_bracket(loop_top, y) if loop_top else _text(place.text, y + LINE - 4, witness.loop, "b", fill="#8a5a00"))
        y += 0 if loop_top else LINE
    return y + 10


def _row(view: StepView, place: PicturePlaces, y: float, height: float, body: list[str]) -> None:
    middle = y + height / 2
    body.append(_text(PAD + place.gutter + 14, middle + 4, str(view.number), "s", "end"))
    if view.lane in place.lanes:
        x, (size, tall) = place.lanes[view.lane], _box(view)
        source, to = (view.acting.source, view.acting.to) if view.acting else (None, None)
        if to in place.lanes and to != view.lane:
            _arrow(x + (size / 2 if place.lanes[to] > x else -size / 2), place.lanes[to], middle, body)
        if source in place.lanes and source != view.lane:
            _arrow(place.lanes[source], x + (-size / 2 if place.lanes[source] < x else size / 2), middle, body)
        body.append(f"<g><title>{escape(view.sentence)}</title>")
        body.append(_rect(x - size / 2, middle - tall / 2, size, tall, "#ddf4ff", "#0969da"))
        for k, line in enumerate(_label(view)):
            body.append(_text(x, middle + 4 + k * LINE - (tall - BOX) / 2, line, "", "middle"))
        body.append("</g>")
    lines = _changes(view)
    first = middle - (len(lines) - 1) * LINE / 2 + 4
    for k, line in enumerate(lines):
        body.append(_text(place.text, first + k * LINE, line, "" if view.number else "s"))
    if view.truth:
        body.append(_text(place.truth, middle + 4, view.truth, "b", fill=_INK.get(WAITING if waits(view.truth) else view.truth, "#57606a")))


def _arrow(start: float, to: float, y: float, body: list[str]) -> None:
    side = 1 if to > start else -1
    tip = to - side * 2
    body.append(f'<line x1="{_n(start)}" y1="{_n(y)}" x2="{_n(tip - side * 8)}" y2="{_n(y)}" stroke="#0969da" stroke-width="1.5"/>')
    body.append(f'<path d="M{_n(tip)} {_n(y)}l{_n(-side * 10)} -5v10z" fill="#0969da"/>')


def _bracket(top: float, bottom: float) -> str:
    """The line back from the last step to the first that repeats."""
    x = PAD + 4
    path = f"M{x + 10} {_n(bottom - 4)}h-10V{_n(top + 10)}h6"
    tip = f'<path d="M{x + 12} {_n(top + 10)}l-8 -4v8z" fill="#8a5a00"/>'
    return f'<path d="{path}" fill="none" stroke="#8a5a00" stroke-width="1.5"/>{tip}'


def _rect(x: float, y: float, width: float, height: float, fill: str, ink: str) -> str:
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="4" fill="{fill}" stroke="{ink}"/>'


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start", fill: str = "") -> str:
    marks = f' class="{style}"' if style else ""
    marks += f' text-anchor="{anchor}"' if anchor != "start" else ""
    marks += f' style="fill:{fill}"' if fill else ""
    return f'<text x="{_n(x)}" y="{_n(y)}"{marks} xml:space="preserve">{escape(text)}</text>'


def _n(value: float) -> str:
    """Return a number without an unneeded fraction."""
    return f"{value:.1f}".removesuffix(".0")
