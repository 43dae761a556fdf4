"""The story of a witness and its text at several widths."""

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from rocketproof_model.result import Witness
from rocketproof_traces.witness import show, truth
from rocketproof_traces.witness.parts import Acting

MORE = "rocketproof explain w.itf.json --step 2"


def text_of(witness: Witness, width: int = 100, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    show.render(show.witness_view(witness), Console(file=out, width=width, no_color=True, force_terminal=False), MORE)
    out.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("which", ["skew", "loud", "lasso"])
def test_printed_story(which: str, request: pytest.FixtureRequest, snapshot: Callable[[str, str], None]) -> None:
    snapshot(f"show-{which}.txt", text_of(request.getfixturevalue(which)))


@pytest.mark.parametrize("which", ["skew", "loud", "lasso"])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_every_width_shows_everything(which: str, width: int, request: pytest.FixtureRequest) -> None:
    witness: Witness = request.getfixturevalue(which)
    text = text_of(witness, width)
    assert max(map(len, text.splitlines())) <= width
    words = re.sub(r"[│┌└]|,(?=\s)", " ", text).split()
    plain = " ".join(re.sub(r"[│┌└]", " ", text).split())
    for view in show.steps(witness)[1:]:
        for change in view.changes:
            row, _, field = change.name.rpartition(".")
            assert change.name + ":" in plain or (row + ":" in plain and field in words), f"{change.name} is not told at width {width}"
        if width >= 80:
            assert view.label in text
    assert text.endswith(MORE + "\n")
    assert text == "\n".join(line.rstrip() for line in text.splitlines()) + "\n", "lines end in blanks"


@pytest.mark.parametrize("which", ["skew", "lasso"])
def test_no_line_is_too_long_at_any_width(which: str, request: pytest.FixtureRequest) -> None:
    witness: Witness = request.getfixturevalue(which)
    lanes = show.witness_view(witness).lanes
    for width in (*range(20, 80), *range(80, 201, 6)):
        lines = text_of(witness, width).splitlines()[:-1]  # the last line is a command
        assert max(map(len, lines)) <= width
        header = next(line for line in lines if line.startswith("  step"))
        if width >= 7 + 30 + sum(len(name) + show.GAP for name in lanes) + len("property") + 10:
            assert all(name in header for name in lanes), f"no lanes at width {width}"


def test_narrow_terminal_shows_truth_below_changing_step(skew: Witness) -> None:
    text = text_of(skew, 44)
    assert text.count("property: not yet") == 1 and text.count("property: reached") == 1


def test_terminal_without_unicode_gets_ascii(lasso: Witness, skew: Witness) -> None:
    assert re.search(r"\n\+ +\|", text_of(lasso, encoding="ascii")), "the loop has no bracket"
    text = text_of(skew, 80, "ascii")
    assert "*------>o" in text
    assert "route: {} -> {0}" in text


def test_lanes_partners_and_changes(skew: Witness) -> None:
    told = show.witness_view(skew)
    assert told.lanes == ("Producer 0", "Producer 1", "Broker 0", "Broker 1"), "the property speaks of a broker that does nothing"
    send = told.steps[2]
    assert (send.label, send.acting) == ("send(p=0, q=0)", Acting("Producer 0", "Broker 0"))
    assert [(c.name, c.before, c.after) for c in send.changes] == [("sending[0]", "None", "0")]
    assert (told.steps[4].truth, told.steps[5].truth, told.steps[6].truth) == ("not yet", "not yet", "reached")


@pytest.mark.parametrize(
    ("id_", "labels", "loop", "truths"),
    [
        ("calm", ["take(c=0, i=0)", "put(c=0, loudly=True)", "rest()"], None, ["holds", "holds", "fails", "holds"]),
        ("gone", ["take(c=0, i=2)"], None, ["not yet", "reached"]),
        ("keep", ["take(c=0, i=2)", "take(c=1, i=0)"], None, ["", "holds", "fails"]),
        ("alive", ["rest()"], None, ["goes on", "goes on"]),
        ("served", ["rest()", "take(c=0, i=2)", "rest()"], 2, ["not asked", "not asked", "waiting", "waiting"]),
        ("served", ["take(c=0, i=2)", "put(c=0, loudly=False)", "rest()"], None, ["not asked", "waiting", "waiting", "waiting"]),
        ("served", ["take(c=0, i=2)", "put(c=0, loudly=True)", "rest()"], None, ["not asked", "waiting", "reached", "not asked"]),
    ],
)
def test_truth_of_each_kind_of_property(
    id_: str, labels: list[str], loop: int | None, truths: list[str], through: Callable[..., Witness]
) -> None:
    witness = through(id_, *labels, loop=loop)
    assert [said.word for said in truth.truths(witness)] == truths
    if "fails" in truths:
        assert show.witness_view(witness).end.startswith(f"{id_} fails ")


@pytest.mark.parametrize(
    ("id_", "labels", "end"),
    [
        ("calm", ["take(c=0, i=0)"], "calm holds all the way: these steps are no counterexample"),
        ("calm", ["take(c=0, i=0)", "put(c=0, loudly=True)", "rest()"], "calm fails after step 2"),
        ("keep", ["take(c=0, i=2)"], "keep holds all the way: these steps are no counterexample"),
        ("gone", [], "gone is not reached"),
        ("alive", ["rest()"], "alive holds: after step 1 something can happen; these steps are no counterexample"),
        ("served", ["rest()"], "served holds: nothing is waited for after step 1; these steps are no counterexample"),
        (
            *("served", ["take(c=0, i=2)", "put(c=0, loudly=True)"]),
            "served holds: what it waits for is reached after step 2; these steps are no counterexample",
        ),
    ],
)
def test_steps_without_visible_change_are_marked(id_: str, labels: list[str], end: str, through: Callable[..., Witness]) -> None:
    """An edited witness, or one of a model that was fixed."""
    assert show.witness_view(through(id_, *labels)).end == end


def test_long_step_is_folded_between_its_arguments(loud: Witness) -> None:
    words = text_of(loud, 36).split()
    assert all(word in words for view in show.steps(loud) for word in view.label.split())


def test_loop_is_marked(lasso: Witness, through: Callable[..., Witness]) -> None:
    told = show.witness_view(lasso)
    assert [v.number for v in told.steps if v.in_loop] == [3, 4]
    assert [v.number for v in told.steps if v.opens_loop] == [3]
    assert told.loop == "from here the steps 3-4 repeat for ever"
    assert told.end == "served waits for ever"
    stays = through("served", "take(c=0, i=1)", loop=1)
    assert show.witness_view(stays).loop == "after step 1 nothing changes any more, for ever"
    assert "nothing changes any more" in text_of(stays)
    assert show.witness_view(through("served", "take(c=0, i=1)", "rest()", loop=1)).loop == "from here step 2 repeats for ever"


def test_start_differing_from_initial_state_is_reported(loud: Witness) -> None:
    later = Witness(loud.instance, loud.property, loud.moves[1:], loud.states[1:])
    start = show.witness_view(later).steps[0]
    assert start.label == "starts elsewhere"
    assert "holding[0] = 0" in text_of(later)


def test_witness_without_states_is_reported(loud: Witness) -> None:
    empty = Witness(loud.instance, loud.property, (), (), note="x = 3")
    assert "a statement about values, without a path\nx = 3\n" in text_of(empty)


def test_fields_of_row_are_adjacent(loud: Witness) -> None:
    assert "shelf[0]: left 1 → 0, seen False → True" in text_of(loud)
    narrow = [line.split("│")[-1].strip() for line in text_of(loud, 60).splitlines()]
    at = narrow.index("shelf[0]: left 1 → 0,")
    assert narrow[at + 1] == "seen False → True"
