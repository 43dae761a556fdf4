"""A public class has a name of its own: a reader who meets it anywhere knows which one it is."""

import re
from collections import defaultdict
from pathlib import Path

from nonempty import nonempty

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("model", "impl", "traces", "properties")


def test_no_public_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for path in nonempty([path for package in PACKAGES for path in (ROOT / package).glob("rocketproof*/**/*.py")]):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if found := re.match(r"class ([A-Za-z]\w*)", line):  # a search for text takes a tenth of parsing the project
                places[found[1]].append(f"{path.relative_to(ROOT)}:{number}")
    assert len(places) > 500
    assert {name: at for name, at in places.items() if len(at) > 1} == {}
