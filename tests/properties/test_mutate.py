"""Mutants of an implementation: a patch changes a running program and leaves no trace, and a campaign reports which test detects it.

Most tests use a toy: a shop with its own tests. The last ones apply the real patches to the implementation.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rocketproof_impl
import rocketproof_model
import rocketproof_profiles
import rocketproof_properties
import rocketproof_traces
from rocketproof_lab.mutation.patch import PatchError, Text, ValuePatch, prepare, probe
from rocketproof_lab.mutation.seeded.registry import SECTIONS, joined, mutants
from rocketproof_properties.catalogue.mutants import ROWS, MutantRow
from rocketproof_properties.reports.choices import InputError

PACKAGES = (rocketproof_impl, rocketproof_model, rocketproof_profiles, rocketproof_properties, rocketproof_traces)
SOURCE_FOLDERS = sorted({str(Path(str(package.__file__)).parents[1]) for package in PACKAGES})

SHOP = '''
from __future__ import annotations

import functools
from dataclasses import dataclass

LIMIT = 3
NAMES = {"a": 1}


def fits(n: int) -> bool:
    """Whether n < LIMIT."""
    return n < LIMIT


def price(n: int, each: int = 2, *, extra: int = 0) -> int:
    return n * each + extra


def text(n: int) -> str:
    if n > 1:
        return f"""{n}
pieces"""
    return "one"


def counter():
    n = 0

    def step(by: int) -> int:
        nonlocal n
        n += by
        return n

    return step


@functools.cache
def slow(n: int) -> int:
    return n + 1


class Base:
    def name(self) -> str:
        return "base"


@dataclass
class Shop(Base):
    stock: int = 5
    __opened = True

    def sell(self, n: int) -> int:
        if n > self.stock:
            raise ValueError(n)
        self.stock -= n
        return self.stock

    def name(self) -> str:
        return "shop of " + super().name()

    def open(self) -> bool:
        return self.__opened

    @property
    def empty(self) -> bool:
        return self.stock == 0

    @empty.setter
    def empty(self, value: bool) -> None:
        self.stock = 0

    @staticmethod
    def tax(n: int) -> int:
        return n + 1

    @classmethod
    def large(cls) -> Shop:
        return cls(100)

    def smaller(self) -> Shop:
        return Shop(self.stock - 1)

    async def order(self, n: int) -> int:
        return n + 1


step = counter()
table = {"fits": fits}
'''
OTHER = "from .shop import LIMIT, fits\n\n\ndef legal(n):\n    return fits(n), n <= LIMIT\n"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module `toyshop.shop`, imported for this test only."""
    write_toy(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("toyshop.shop")
    for name in [name for name in sys.modules if name.partition(".")[0] == "toyshop"]:
        del sys.modules[name]


def write_toy(folder: Path) -> None:
    package = folder / "toyshop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "shop.py").write_text(SHOP)
    (package / "other.py").write_text(OTHER)


def done(work: Any) -> Any:
    return asyncio.run(work)


def emptied(shop: Any) -> int:
    shop.empty = True
    return int(shop.stock)


TEXTS: dict[str, tuple[str, str, str, Any, Any, Any]] = {
    "function": ("fits", "return n < LIMIT", "return n <= LIMIT", lambda m: m.fits(3), False, True),
    "function in a table": ("fits", "return n < LIMIT", "return n <= LIMIT", lambda m: m.table["fits"](3), False, True),
    "default": ("price", "each: int = 2", "each: int = LIMIT", lambda m: m.price(1), 2, 3),
    "named default": ("price", "extra: int = 0", "extra: int = 1", lambda m: m.price(1), 2, 3),
    "long string": ("text", "n > 1", "n > 2", lambda m: m.text(2), "2\npieces", "one"),
    "several lines": (
        "Shop.sell",
        "if n > self.stock:\n    raise ValueError(n)\nself.stock -= n",
        "self.stock -= n\nif n > self.stock:\n    raise KeyError(n)",
        lambda m: m.Shop(5).sell(2),
        3,
        3,
    ),
    "moved lines": (
        "Shop.sell",
        "self.stock -= n\nreturn self.stock",
        "left = self.stock\nself.stock -= n\nreturn left",
        lambda m: m.Shop(5).sell(2),
        3,
        5,
    ),
    "closure": ("step", "n += by", "n += 2 * by", lambda m: -m.step(0) + m.step(1), 1, 2),
    "cached": ("slow", "n + 1", "n + 2", lambda m: m.slow(1), 2, 3),
    "super": ("Shop.name", '"shop of "', '"stall of "', lambda m: m.Shop().name(), "shop of base", "stall of base"),
    "private name": ("Shop.open", "self.__opened", "not self.__opened", lambda m: m.Shop().open(), True, False),
    "property": ("Shop.empty", "== 0", "== 5", lambda m: m.Shop().empty, False, True),
    "setter": ("Shop.empty.fset", "= 0", "= 1", lambda m: emptied(m.Shop()), 0, 1),
    "staticmethod": ("Shop.tax", "+ 1", "+ 2", lambda m: m.Shop.tax(1), 2, 3),
    "classmethod": ("Shop.large", "100", "200", lambda m: m.Shop.large().stock, 100, 200),
    "its own class": ("Shop.smaller", "- 1", "- 2", lambda m: m.Shop().smaller().stock, 4, 3),
    "async method": ("Shop.order", "n + 1", "n + 2", lambda m: done(m.Shop().order(1)), 2, 3),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_changed_and_changed_back(name: str, toy: ModuleType) -> None:
    where, old, new, look, usual, other = TEXTS[name]
    sell = toy.Shop(5).sell  # held before the change
    assert look(toy) == usual
    patch = [Text(f"toyshop.shop:{where}", old, new)]
    calls: Counter[str] = Counter()
    with prepare(patch).applied(lambda called: calls.update([called])):
        assert look(toy) == other
        if name == "several lines":
            with pytest.raises(KeyError):
                sell(9)
    assert look(toy) == usual
    assert calls.total() >= 1
    calls.clear()
    with probe([patch]).applied(lambda called: calls.update([called])):
        assert look(toy) == usual
    counted = calls.total()
    assert counted >= 1
    look(toy)
    assert calls.total() == counted
    assert not [key for key in vars(toy) if "rocketproof" in key]


def test_lines_stay_where_they_are(toy: ModuleType) -> None:
    """A traceback through a changed function points into its file."""
    line = SHOP.split("\n").index("            raise ValueError(n)") + 1
    with prepare([Text("toyshop.shop:Shop.sell", "self.stock -= n", "self.stock -= 1")]).applied():
        with pytest.raises(ValueError, match="9") as raised:
            toy.Shop().sell(9)
        assert raised.traceback[-1].lineno + 1 == line
        assert str(raised.traceback[-1].path) == toy.__file__


def test_values(toy: ModuleType) -> None:
    other = importlib.import_module("toyshop.other")
    limit = ValuePatch("toyshop.shop:LIMIT", lambda old: old + 1)
    names = ValuePatch("toyshop.shop:NAMES", lambda old: {**old, "a": 2})
    method = ValuePatch("toyshop.shop:Shop.tax", lambda old: staticmethod(lambda n: n + 9))
    function = ValuePatch("toyshop.shop:fits", lambda old: lambda n: not old(n))
    inherited = ValuePatch("toyshop.shop:Shop.__doc__", lambda old: "changed")
    before = dict(vars(toy)), dict(vars(toy.Shop))
    with prepare([limit, names, method, function, inherited]).applied():
        assert (toy.LIMIT, toy.NAMES, toy.Shop.tax(1), toy.Shop.__doc__) == (4, {"a": 2}, 10, "changed")
        assert other.legal(4) == (True, True)
    assert (dict(vars(toy)), dict(vars(toy.Shop))) == before
    assert other.legal(4) == (False, False)


def test_two_changes_of_one_function_apply(toy: ModuleType) -> None:
    patch = [Text("toyshop.shop:price", "n * each", "n + each"), Text("toyshop.shop:price", "+ extra", "- extra")]
    with prepare(patch).applied():
        assert toy.price(5, extra=1) == 6
    assert toy.price(5, extra=1) == 11


MISFITS = {
    "no module": ("toyshop.nothing:x", "a", "b", "No module named 'toyshop.nothing'"),
    "no place": ("toyshop.shop", "a", "b", "it names no place"),
    "renamed": ("toyshop.shop:Shop.buy", "a", "b", "there is no 'buy' in Shop; has it been renamed?"),
    "not there": ("toyshop.shop:fits", "n > LIMIT", "n", "'n > LIMIT' occurs nowhere in it"),
    "twice": ("toyshop.shop:fits", "n < LIMIT", "n", "'n < LIMIT' occurs 2 times in it"),
    "blank": ("toyshop.shop:fits", " ", "n", "its old text is blank"),
    "docstring": ("toyshop.shop:fits", "Whether n", "If n", "only comments or the docstring change"),
    "no python": ("toyshop.shop:fits", "return n", "return return n", "the changed source cannot be compiled"),
    "misspelt": ("toyshop.shop:fits", "return n < LIMIT", "return n < LIMITS", "uses LIMITS, which its module does not know"),
    "free variables": ("toyshop.shop:step", "nonlocal n", "n = 0", "its free variables were n and are none"),
    "no source": ("toyshop.shop:Shop.__init__", "stock", "n", "its source cannot be read"),
    "no function": ("toyshop.shop:LIMIT", "3", "4", "it is a int, no function with a source"),
    "other default": ("toyshop.shop:price", "each: int = 2", "each: int = TWO", "its defaults cannot be computed"),
}


@pytest.mark.parametrize("name", MISFITS)
@pytest.mark.usefixtures("toy")
def test_unsuitable_patch_names_its_location(name: str) -> None:
    where, old, new, words = MISFITS[name]
    with pytest.raises(PatchError) as refused:
        prepare([Text(where, old, new)])
    assert words in str(refused.value) and where in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("toy")
def test_no_changes_and_no_value() -> None:
    with pytest.raises(PatchError, match="changes nothing"):
        prepare([])
    with pytest.raises(PatchError, match="no 'LIMITS' in toyshop"):
        prepare([ValuePatch("toyshop.shop:LIMITS", lambda old: 1)])


def test_rows_and_patches_are_joined() -> None:
    rows = [MutantRow("M-1", "one", ("A",)), MutantRow("M-2", "two", ("B",), "ab")]
    patch = [Text("m:f", "a", "b")]
    found = joined(rows, [{"M-1": patch}, {"M-2b": patch}])
    assert [list(mutant.patches) for mutant in found] == [[""], ["b"]]
    with pytest.raises(PatchError, match="M-1 has two patches"):
        joined(rows, [{"M-1": patch}, {"M-1": patch}])
    with pytest.raises(PatchError, match="a patch for M-2, which the table does not have"):
        joined(rows, [{"M-2": patch}])
    with pytest.raises(InputError, match="unknown mutant 'M-999'"):
        mutants(["M-999"])


TESTS = """
import asyncio
import os
import time
import pytest
from hypothesis import given, strategies
from toyshop import shop
from toyshop.shop import fits, price


@pytest.mark.behaviour("CHK-02")
def test_fits_far():
    assert fits(1) and not fits(9)


@pytest.mark.behaviour("CHK-02", "CHK-10")
def test_fits_near(tmp_path):
    tmp_path.joinpath("x").touch()
    print("unheard")
    assert not fits(3)


@pytest.mark.behaviour("INV-12")
@given(strategies.integers(0, 10**6))
def test_price(n):
    assert price(n) == n + n


@pytest.mark.behaviour("APP-01")
def test_sell():
    left = shop.Shop(2)
    while left.stock:
        left.sell(1)
        time.sleep(0.001)


@pytest.mark.behaviour("REM-01")
def test_end():
    assert shop.Shop.tax(1) == 2


@pytest.mark.behaviour("TCM-15")
@pytest.mark.parametrize("n", [1, 2])
def test_order(n):
    assert asyncio.run(shop.Shop().order(n)) > n


@pytest.mark.behaviour("PER-01")
def test_skipped():
    pytest.skip("not here")


@pytest.mark.behaviour("PER-02")
def test_broken():
    assert not fits(0)
"""

PROGRAM = """
import json, sys
from pathlib import Path
from rocketproof_lab.mutation.seeded import registry
from rocketproof_lab.mutation.patch import Text, ValuePatch
from rocketproof_properties.catalogue.mutants import MutantRow
from rocketproof_properties import commands


def text(where, old, new):
    return [Text("toyshop.shop:" + where, old, new)]


TOYS = [
    (MutantRow("M-1", "the limit fits", ("CHK-10", "CHK-02")), {"": text("fits", "return n < LIMIT", "return n <= LIMIT")}),
    (MutantRow("M-2", "each costs twice as much from 1000 on", ("INV-12",)), {"": text("price", "n * each", "n * each + (n >= 1000)")}),
    (MutantRow("M-3", "nothing is taken from the stock", ("APP-01",)), {"": text("Shop.sell", "self.stock -= n", "pass")}),
    (MutantRow("M-4", "the process ends", ("REM-01",)), {"": text("Shop.tax", "return n + 1", "import os; os._exit(3)")}),
    (MutantRow("M-5", "an order is larger", ("TCM-15",)), {"": text("Shop.order", "n + 1", "n + 2")}),
    (MutantRow("M-6", "the shop is open", ("TCM-15",)), {"": text("Shop.open", "self.__opened", "1")}),
    (MutantRow("M-7", "nobody looks", ("NS-01",)), {"": text("Shop.open", "self.__opened", "1")}),
    (MutantRow("M-8", "the order is a bool", ("TCM-15",), equivalent="for a reason"), {"": text("Shop.order", "n + 1", "1 + n")}),
    (MutantRow("M-9", "the limit is 4 (a) or 100 (b)", ("CHK-02",), "ab"),
        {letter: [ValuePatch("toyshop.shop:LIMIT", lambda old, n=n: n)] for letter, n in (("a", 4), ("b", 100))}),
    (MutantRow("M-10", "the limit is 4 (a), or each is free (b)", ("CHK-02",), "ab"),
        {"a": [ValuePatch("toyshop.shop:LIMIT", lambda old: 4)], "b": text("price", "n * each", "0")}),
    (MutantRow("M-11", "tests that are skipped", ("PER-01",)), {"": text("fits", "return n", "return not n")}),
    (MutantRow("M-12", "broken tests", ("PER-02", "CHK-02")), {"": text("fits", "return n", "return not n")}),
    (MutantRow("M-13", "a patch that does not fit", ("CHK-02",)), {"": text("fits", "not there", "")}),
]
registry.ROWS = [row for row, _ in TOYS]
registry.SECTIONS = [{row.id + letter: patch for row, patches in TOYS for letter, patch in patches.items()}]
sys.argv[0] = "rocketproof"
commands.main()
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write_toy(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_shop.py").write_text(TESTS)
    (tmp_path / "tests" / "conftest.py").write_text('pytest_plugins = ["rocketproof_lab.requirements.plugin"]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --nothing\nfilterwarnings = error\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def started(shop: Path, *tokens: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*SOURCE_FOLDERS, str(shop)]), "NO_COLOR": "1", "COLUMNS": "200"}
    command = [sys.executable, "program.py", "mutate", *tokens, "--json", "out.json", "--workers", "2"]
    return subprocess.Popen(command, cwd=shop, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def session(shop: Path, *tokens: str) -> tuple[int, str, str, dict[str, Any]]:
    with started(shop, *tokens) as process:
        out, err = process.communicate(timeout=120)
    written = shop / "out.json"
    rows = {row["id"]: row for row in json.loads(written.read_text())} if written.exists() else {}
    return process.returncode, out, err, rows


@pytest.mark.slow
def test_report_lists_which_test_detected_each_mutant(shop: Path) -> None:
    patience = "from rocketproof_lab.mutation import by_tests; by_tests.PATIENCE = 1.5; commands.main()"
    (shop / "program.py").write_text(PROGRAM.replace("commands.main()", patience))
    numbers = [str(n) for n in range(1, 12)]
    code, out, err, rows = session(shop, *(f"M-{n}" for n in numbers))
    assert code == 1, out + err
    assert not [line for line in err.splitlines() if not re.fullmatch(r".* \d+ of \d+", line)], "more than progress is told: " + err
    assert list(rows) == [f"M-{n}" for n in numbers]
    assert all(row.keys() == {"id", "sentence", "killed_by", "seconds", "equivalent", "nearest_miss", "verdict"} for row in rows.values())
    assert [rows[id_]["verdict"] for id_ in ("M-1", "M-5")] == ["killed", "survived"]
    at = "tests/test_shop.py::"
    assert {id_: row["killed_by"] for id_, row in rows.items()} == {
        "M-1": f"CHK-10 {at}test_fits_near",
        "M-2": f"INV-12 {at}test_price",
        "M-3": f"APP-01 {at}test_sell (it did not end)",
        "M-4": f"REM-01 {at}test_end (its process ended)",
        "M-5": None,
        "M-6": None,
        "M-7": None,
        "M-8": None,
        "M-9": f"a: CHK-02 {at}test_fits_near; b: CHK-02 {at}test_fits_far",
        "M-10": None,
        "M-11": None,
    }
    misses = {id_: row["nearest_miss"] for id_, row in rows.items() if row["killed_by"] is None}
    assert misses["M-5"].startswith(f"passed 2 tests of TCM-15; 2 called what is changed, most often (1 times) {at}test_order[")
    assert misses["M-6"] == "none of 2 tests of TCM-15 calls what is changed"
    assert misses["M-7"] == "no test that carries NS-01 is run"
    assert misses["M-10"] == "b: none of 2 tests of CHK-02 calls what is changed"
    assert misses["M-11"] == "no test that carries PER-01 is run"
    assert rows["M-8"]["equivalent"] == "for a reason" and rows["M-5"]["equivalent"] is None
    assert rows["M-1"]["nearest_miss"] is None
    assert rows["M-3"]["seconds"] > 1.5
    assert "! M-5   survived" in out
    assert out.splitlines()[-1].startswith("11 mutants: 5 killed, 1 equivalent, 5 survived, ")


def test_all_noticed(shop: Path) -> None:
    code, out, err, rows = session(shop, "M-1", "m-9", "M-8", "--tests", "tests/test_shop.py")
    assert code == 0, out + err
    assert len(rows) == 3
    assert "Not noticed" not in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["M-12"], "without any mutant tests/test_shop.py::test_broken (assert not True) failed, so they can find none; fix them first"),
        (["M-1", "M-13"], "patch of 'toyshop.shop:fits': 'not there' occurs nowhere in it"),
        (["M-99"], "unknown mutant 'M-99'"),
        (["M-1", "--tests", "nowhere"], "there are no tests at nowhere; give their folder with --tests"),
        (["M-1", "--tests", "."], "bad/test_bad.py cannot be collected"),
    ],
)
def test_bad_input(tokens: list[str], words: str, shop: Path) -> None:
    if "." in tokens:
        (shop / "bad").mkdir()
        (shop / "bad" / "test_bad.py").write_text("import nothing_of_that_name\n")
    code, out, err, rows = session(shop, *tokens)
    assert (code, out, rows) == (2, "", {})
    assert words in err and len(err.splitlines()) == 1


@pytest.mark.slow
def test_limit_of_time(shop: Path) -> None:
    """The toy's M-3 takes more than ten seconds."""
    code, out, err, rows = session(shop, "M-1", "M-3", "--time", "5")
    assert code == 3, out + err
    assert rows["M-1"]["killed_by"] is not None
    assert rows["M-3"]["killed_by"] is None and rows["M-3"]["nearest_miss"] == "not decided: stopped by the time limit"
    assert "1 killed, 1 undecided, stopped by the time limit" in out.splitlines()[-1]


def test_ctrl_c(shop: Path) -> None:
    """Running processes are ended, including the endless loop of M-3. Each process that sells leaves a file named by its number."""
    source = shop / "toyshop" / "shop.py"
    place = "        if n > self.stock:\n            raise ValueError(n)\n"
    assert place in SHOP
    source.write_text(SHOP.replace(place, place + "        import os, pathlib; pathlib.Path(f'{os.getpid()}.pid').touch()\n"))
    with started(shop, "M-3") as process:
        until = time.monotonic() + 60
        while time.monotonic() < until and len(list(shop.glob("*.pid"))) < 2:
            time.sleep(0.05)  # the first run is without a mutant, the second with it
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 3, out + err
    assert "1 undecided, stopped by Ctrl-C" in out.splitlines()[-1]
    assert "Traceback" not in err
    sellers = [int(file.stem) for file in shop.glob("*.pid")]
    assert len(sellers) == 2
    for number in sellers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


@pytest.mark.slow
def test_mutant_by_hand(shop: Path) -> None:
    """The plugin alone suffices; the toy has a patch for it."""
    (shop / "pytest.ini").unlink()
    lines = PROGRAM.replace("commands.main()", "import pytest; sys.exit(pytest.main(sys.argv[1:]))")
    (shop / "by_hand.py").write_text(lines)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*SOURCE_FOLDERS, str(shop)])}
    base = [sys.executable, "by_hand.py", "-p", "rocketproof_lab.mutation.plugin", "-p", "no:cacheprovider", "-p", "no:xdist", "-q"]

    def outcome(*options: str) -> tuple[int, str]:
        done = subprocess.run([*base, *options, "tests"], cwd=shop, env=env, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    code, said = outcome("--mutant", "M-1")
    assert code == 1 and "1 failed, 1 passed, 7 deselected" in said, said
    code, said = outcome("--behaviour", "CHK-02", "--behaviour", "APP-01")
    assert code == 0 and "3 passed, 6 deselected" in said, said
    code, said = outcome("--mutant", "M-9")
    assert code == 4 and "--mutant M-9 is not a variant; use M-9a, M-9b" in said, said


def test_the_table() -> None:
    """They are ordered by number, include all up to 118, and have ids of tests."""
    numbers = [int(row.id.removeprefix("M-")) for row in ROWS]
    assert numbers == sorted(set(numbers)) and set(numbers) >= set(range(1, 119))
    for row in ROWS:
        assert row.killers and row.sentence, row.id
        assert [letter for letter in row.variants if f"({letter})" not in row.sentence] == [], row.id


PATCHES = {id_: patch for section in SECTIONS for id_, patch in section.items()}


@pytest.mark.parametrize("id_", PATCHES)
def test_patch_fits_implementation(id_: str) -> None:
    with prepare(PATCHES[id_]).applied():
        pass


def test_every_mutant_has_its_patches() -> None:
    mutants()
