"""`import rocketproof` offers what is documented, has nothing of its own, is cheap, and is enough for a model of one's own."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import rocketproof
import rocketproof_model
from rocketproof import Int, Model, after, search

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "properties/docs/api.md"


def test_it_only_names_what_other_packages_have() -> None:
    tree = ast.parse((ROOT / "properties/rocketproof/__init__.py").read_text("utf-8"))
    later = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in (*tree.body, *later.body) if isinstance(node, ast.ImportFrom)]
    named = [name.asname or name.name for node in imports for name in node.names]
    assert sorted(set(named) - {"import_module", "TYPE_CHECKING", "Any"}) == sorted(rocketproof.__all__)
    assert all(isinstance(node, ast.ImportFrom) for node in later.body)
    assert not [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def test_every_name_is_there_and_a_wrong_one_is_refused() -> None:
    assert all(getattr(rocketproof, name) is not None for name in rocketproof.__all__)
    assert set(rocketproof.__all__) <= set(dir(rocketproof))
    assert not hasattr(rocketproof, "chekc")


def test_importing_it_brings_no_engine() -> None:
    heavy = ("numpy", "numba", "z3", "pyarrow", "networkx", "hypothesis", "rich", "cyclopts", "pyspark")
    program = f"import rocketproof, sys; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n"


def test_every_name_is_on_the_page() -> None:
    spans = set(re.findall(r"`(\w+)", PAGE.read_text("utf-8")))
    assert set(rocketproof.__all__) <= spans


def test_it_has_the_whole_language_and_what_the_page_lists() -> None:
    assert set(rocketproof_model.__all__) <= set(rocketproof.__all__)
    lists = PAGE.read_text("utf-8").partition("## Write a model")[2].partition("## Witnesses")[0]
    cells = [row.split("|")[1] for row in lists.splitlines() if row.startswith("| `")]
    documented = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert len(documented) > 30 and documented <= set(rocketproof.__all__)


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
