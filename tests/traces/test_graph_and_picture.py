"""The state graph for networkx, and the picture of a witness."""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest

import routing
from nonempty import nonempty
from rocketproof_model import ANY, Int, Model, after
from rocketproof_model.result import Move, Witness
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.witness import graph, picture, show

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def small() -> "nx.MultiDiGraph[int]":
    return graph.state_graph(routing.model(B=2, P=1, M=1, K=1, C=1).given())


def test_graph_has_every_state_once_in_breadth_first_order(small: "nx.MultiDiGraph[int]") -> None:
    assert (small.number_of_nodes(), small.number_of_edges()) == (120, 236)
    assert list(small.nodes) == list(range(120))
    depths = nx.single_source_shortest_path_length(small, 0)
    assert all(small.nodes[n]["depth"] == d for n, d in depths.items())
    assert [n for n, row in small.nodes(data=True) if row["initial"]] == [0]
    assert {n for n, row in small.nodes(data=True) if row["deadlock"]} == {n for n in small if small.out_degree(n) == 0}


def test_nodes_and_edges_can_be_read(small: "nx.MultiDiGraph[int]") -> None:
    start = small.nodes[0]
    assert (start["created[0]"], start["route"], start["sending[0]"], start["crashes"]) == (False, "{}", "None", 0)
    assert (start["property append"], start["property skew"]) == (True, False)
    assert min(row["depth"] for _, row in small.nodes(data=True) if row["property skew"]) == 5
    assert {row["label"] for _, _, row in small.out_edges(0, data=True)} == {"fetch_route(p=0)", "crash(b=0)", "crash(b=1)"}


def test_step_properties_are_on_edges(loud: Witness) -> None:
    with pytest.raises(TraceError, match="graph of shop: has more than 50 states; choose a smaller scope or a higher limit"):
        graph.state_graph(loud.instance, limit=50)
    m = Model("tank")
    level = m.var("level", Int(0, 2), init=0)

    @m.action(by=Int(-1, 1))
    def turn(a, by):
        """The level changes."""
        a.guard("in range", (level + by >= 0) & (level + by <= 2), "the tank neither overflows nor runs dry")
        a.set(level, level + by)

    m.step("up", after(level) >= level, "the level never falls")
    whole = graph.state_graph(m.given())
    assert [(a, b) for a, b, row in whole.edges(data=True) if not row["property up"]] == [(1, 0), (2, 1)]
    assert whole.number_of_edges() == 7
    assert list(whole.nodes[0]) == ["level", "initial", "deadlock", "depth"]


def test_omitted_initial_states_are_reported() -> None:
    m = Model("still")
    m.var("x", Int(0, 9), init=ANY)

    @m.action()
    def stay(a: Any) -> None:
        """Nothing changes."""

    with pytest.raises(TraceError, match="graph of still: has more than 9 states"):
        graph.state_graph(m.given(), limit=9)
    whole = graph.state_graph(m.given(), limit=10)
    assert [row["initial"] for _, row in whole.nodes(data=True)] == [True] * 10


def test_limit_that_just_fits_is_no_error() -> None:
    assert graph.state_graph(routing.model(B=2, P=1, M=1, K=1, C=1).given(), limit=120).number_of_nodes() == 120


def test_graphml_round_trips(small: "nx.MultiDiGraph[int]") -> None:
    text = graph.to_graphml(small)
    back = nx.read_graphml(io.BytesIO(text.encode()), node_type=int, force_multigraph=True)
    assert dict(back.nodes(data=True)) == dict(small.nodes(data=True))
    assert sorted(d["label"] for _, _, d in back.edges(data=True)) == sorted(d["label"] for _, _, d in small.edges(data=True))
    assert text == graph.to_graphml(small)


def test_dot_has_every_node_and_edge_and_is_quoted(small: "nx.MultiDiGraph[int]") -> None:
    text = graph.to_dot(small)
    assert text.startswith('digraph "routing" {') and text.endswith("}\n")
    assert len(re.findall(r"^  \d+ \[label=", text, re.MULTILINE)) == 120
    assert len(re.findall(r"^  \d+ -> \d+ \[label=", text, re.MULTILINE)) == 236
    assert '  0 [label="0", peripheries="2"' in text
    odd: nx.MultiDiGraph[int] = nx.MultiDiGraph(name='a"b')
    odd.add_node(0, mood='say "x\\y"', initial=False, deadlock=False)
    odd.add_node(1, mood="calm", initial=True, deadlock=False)
    assert graph._quoted('say "x\\y"\nz') == '"say \\"x\\\\y\\"\\nz"'
    assert graph.to_dot(odd).startswith('digraph "a\\"b" {')


@pytest.mark.parametrize("which", ["skew", "loud", "lasso"])
def test_picture_is_xml_with_every_step(which: str, request: pytest.FixtureRequest) -> None:
    witness: Witness = request.getfixturevalue(which)
    text = picture.svg(witness)
    root = ET.fromstring(text)
    texts = ["".join(t.itertext()) for t in root.iter(SVG + "text")]
    for view in show.steps(witness)[1:]:
        assert view.label in texts
        assert all(any(c.before in t and c.after in t for t in texts) for c in view.changes)
    assert all(name in texts for name in show.witness_view(witness).lanes)
    assert witness.property.sentence in texts
    assert text == picture.svg(witness)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", ""), "the picture is not self-contained"


@pytest.mark.parametrize("which", ["skew", "loud", "lasso"])
def test_boxes_stay_inside_picture_without_overlap(which: str, request: pytest.FixtureRequest) -> None:
    root = ET.fromstring(picture.svg(request.getfixturevalue(which)))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for text in nonempty(root.iter(SVG + "text")):
        size = len("".join(text.itertext())) * picture.CHAR
        left = float(text.get("x", 0)) - {"start": 0, "middle": size / 2, "end": size}[text.get("text-anchor", "start")]
        assert left >= 0 and left + size <= width + 1 and float(text.get("y", 0)) < height, "".join(text.itertext())
    boxes = [tuple(float(r.get(k, 0)) for k in ("x", "y", "width", "height")) for r in list(root.iter(SVG + "rect"))[1:]]
    for i, (x, y, w, h) in nonempty(enumerate(boxes)):
        assert all(x + w <= p or p + r <= x or y + h <= q or q + s <= y for p, q, r, s in boxes[:i])


def test_arrows_and_loop_are_drawn(skew: Witness, lasso: Witness, through: Callable[..., Witness]) -> None:
    assert picture.svg(skew).count('fill="#0969da"/>') == 1
    assert "from here the steps 3-4 repeat for ever" in picture.svg(lasso)
    assert 'fill="none" stroke="#8a5a00"' in picture.svg(lasso)
    stays = picture.svg(through("served", "take(c=0, i=1)", loop=1))
    assert "after step 1 nothing changes any more" in stays


def test_foreign_characters_are_escaped(loud: Witness) -> None:
    text = picture.svg(loud)
    assert "&lt;busy&gt; &amp; " in text
    assert "<busy>" not in text


def test_witness_without_states_has_picture(loud: Witness) -> None:
    root = ET.fromstring(picture.svg(Witness(loud.instance, loud.property, (), (), note="x = 3")))
    assert any(t.text == "x = 3" for t in root.iter(SVG + "text"))


def test_long_label_has_its_parameters_below_its_action() -> None:
    m = Model("wide")
    x = m.var("x", Int(0, 9), init=0)

    @m.action(first=Int(0, 9), second=Int(0, 9), third=Int(0, 9), fourth=Int(0, 9))
    def change_everything_at_once(a: Any, first: Any, second: Any, third: Any, fourth: Any) -> None:
        """All changes."""
        a.set(x, first)

    m.always("small", x < 5, "x stays small")
    text = picture.svg(Witness(m.given(), m.properties[0], (Move("change_everything_at_once", (5, 0, 0, 0)),), ((0,), (5,))))
    lines = [t for t in ("".join(t.itertext()) for t in ET.fromstring(text).iter(SVG + "text")) if "=" in t or t.endswith("(")]
    assert lines == ["change_everything_at_once(", "first=5, second=0,", "third=0, fourth=0)"]
