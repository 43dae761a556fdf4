"""A public class has a name of its own: a reader who meets it anywhere knows which one it is."""

import ast
from collections import defaultdict
from pathlib import Path

from nonempty import nonempty

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("model", "impl", "traces", "properties")


def test_no_public_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for path in nonempty([path for package in PACKAGES for path in (ROOT / package).glob("rocketproof*/**/*.py")]):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 500
    assert {name: at for name, at in places.items() if len(at) > 1} == {}
