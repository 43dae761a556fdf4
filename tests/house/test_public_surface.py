"""`import rocketproof` offers what is documented, has nothing of its own, and is enough for a model of one's own."""

import ast
from pathlib import Path

import rocketproof
import rocketproof_model
from rocketproof import Int, Model, after, search

HOUSE = Path(__file__).resolve().parents[2]


def test_it_only_names_what_other_packages_have() -> None:
    tree = ast.parse((HOUSE / "properties/rocketproof/__init__.py").read_text("utf-8"))
    docstring, *imports, listed = tree.body
    assert ast.get_docstring(tree) and isinstance(docstring, ast.Expr)
    assert all(isinstance(node, ast.ImportFrom) for node in imports) and isinstance(listed, ast.Assign)
    named = [name.asname or name.name for node in imports if isinstance(node, ast.ImportFrom) for name in node.names]
    assert sorted(named) == sorted(rocketproof.__all__)


def test_it_has_the_whole_language_and_what_the_map_lists() -> None:
    assert set(rocketproof_model.__all__) <= set(rocketproof.__all__)
    (row,) = [line for line in (HOUSE / "properties/README.md").read_text("utf-8").splitlines() if line.startswith("| `rocketproof/`")]
    documented = {span for span in row.split("`")[1::2] if " " not in span and "/" not in span}
    assert documented <= set(rocketproof.__all__)


def test_a_model_is_written_and_checked_with_it_alone() -> None:
    m = Model("counter")
    n = m.var("n", Int(0, 3), init=0)

    @m.action()
    def up(a: rocketproof.Body) -> None:
        """It counts."""
        a.guard("below 3", n < 3, "the count is below 3")
        a.set(n, n + 1)

    m.always("below 3", n < 3, "the count stays below 3")
    m.step("up", after(n) >= n, "the count never falls")
    found = search.explore(m.given(), m.properties)
    assert [outcome.verdict for outcome in found.outcomes] == ["violated", "holds"]
