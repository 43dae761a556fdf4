"""Rules, the marker that names them in tests, and the report that joins rule, code, test and model."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nonempty import nonempty
from proportion import few
from rocketproof_lab import requirements as requiring
from rocketproof_lab.mutation.seeded.registry import mutants
from rocketproof_lab.requirements import references
from rocketproof_properties.catalogue.mutants import ROWS
from rocketproof_properties.catalogue.rules import ID, BehaviourRule, is_known, rules, sections
from rocketproof_properties.catalogue.table import CLAIMS, HISTORY_CLAIMS
from rocketproof_properties.commands import run
from rocketproof_properties.hazards import HAZARDS
from rocketproof_properties.reports.choices import InputError

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "rocketproof_lab.requirements.plugin"
INSTALLED = "rocketproof_properties.pytest_plugin"
MARKED = """
    import pytest

    @pytest.mark.behaviour("CHK-10", "INV-30")
    def test_passes(): pass

    @pytest.mark.behaviour("CHK-10")
    @pytest.mark.parametrize("n", [1, 2])
    def test_fails_once(n): assert n == 1

    @pytest.mark.behaviour("TCM-15")
    def test_is_skipped(): pytest.skip("not here")

    @pytest.mark.behaviour("TCM-15")
    @pytest.mark.xfail(strict=False)
    def test_should_fail_and_does(): assert False

    @pytest.mark.behaviour("TCM-15")
    @pytest.mark.xfail(strict=False)
    def test_should_fail_and_does_not(): pass

    @pytest.fixture
    def broken(): raise OSError

    @pytest.mark.behaviour("HAZ-07")
    def test_never_begins(broken): pass

    @pytest.fixture
    def untidy():
        yield
        raise OSError

    @pytest.mark.behaviour("M-01")
    def test_ends_badly(untidy): pass

    def test_without_mark(): pass
"""
OUTCOMES = {
    "CHK-10": {
        "passed": ["test_marked.py::test_fails_once[1]", "test_marked.py::test_passes"],
        "failed": ["test_marked.py::test_fails_once[2]"],
        "skipped": [],
    },
    "HAZ-07": {"passed": [], "failed": ["test_marked.py::test_never_begins"], "skipped": []},
    "INV-30": {"passed": ["test_marked.py::test_passes"], "failed": [], "skipped": []},
    "M-01": {"passed": [], "failed": ["test_marked.py::test_ends_badly"], "skipped": []},
    "TCM-15": {
        "passed": [],
        "failed": [],
        "skipped": [
            "test_marked.py::test_is_skipped",
            "test_marked.py::test_should_fail_and_does",
            "test_marked.py::test_should_fail_and_does_not",
        ],
    },
}


# The rules


def test_rules_have_id_sentence_and_one_location() -> None:
    ids = [rule.id for section in sections() for rule in section.rules]
    assert len(ids) == len(set(ids)) == len(rules()) == 204
    assert all(ID.fullmatch(id_) for id_ in ids)
    assert all(r.sentence.endswith(".") and len(r.sentence) <= 140 for r in rules().values())
    names = [section.id for section in sections()]
    assert names == sorted(set(names)) and {name[0] for name in names} == set("ABCDEFGH")


def test_specification_names_rules_that_exist() -> None:
    stated = {id_ for id_ in requiring.stated() if ID.fullmatch(id_)}
    assert len(stated) > 50 and stated <= rules().keys()


@pytest.mark.parametrize("id_", ["CHK-10", "INV-30", "LIV-01", "ACT-03", "REA-01", "AUX-02", "END-01", "HAZ-44", "M-01", "M-120"])
def test_known_ids(id_: str) -> None:
    assert is_known(id_)


@pytest.mark.parametrize("id_", ["CHK-99", "INV-1", "INV-001", "chk-10", "M-1", "XYZ-01", "CHK-10 ", ""])
def test_unknown_ids(id_: str) -> None:
    assert not is_known(id_)


# The plugin


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Run pytest in a separate process with only the named plugins, in which every warning is an error."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("PYTEST_PLUGINS", raising=False)

    def call(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-W", "error", "--strict-markers", *arguments)

    return call


PROCESSES = pytest.mark.parametrize(
    "processes", [(), pytest.param(("-p", "xdist", "-n", "2"), marks=pytest.mark.slow)], ids=["one process", "xdist"]
)


@PROCESSES
def test_results_by_id(pytester: pytest.Pytester, inner: Callable[..., pytest.RunResult], processes: tuple[str, ...]) -> None:
    pytester.makepyfile(test_marked=MARKED)
    done = inner("-p", PLUGIN, *processes, "--requirements=results.json")
    done.assert_outcomes(passed=4, failed=1, skipped=1, xfailed=1, xpassed=1, errors=2)
    assert json.loads((pytester.path / "results.json").read_text()) == OUTCOMES


@PROCESSES
def test_unknown_id_is_error_of_its_file(
    pytester: pytest.Pytester, inner: Callable[..., pytest.RunResult], processes: tuple[str, ...]
) -> None:
    typo = """
        import pytest

        @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.behaviour("INV-30", "CHK-1O"))])
        def test_two(n): pass

        @pytest.mark.behaviour
        def test_three(): pass
        """
    typo_of_class = """
        import pytest

        @pytest.mark.behaviour("INV30")
        class TestAll:
            def test_one(self): pass
        """
    pytester.makepyfile(test_typo=typo, test_typo_of_class=typo_of_class, test_fine="def test_fine(): pass")
    done = inner("-p", PLUGIN, *processes)
    assert done.ret != pytest.ExitCode.OK
    done.stdout.fnmatch_lines_random(
        [
            "*TestAll::test_one: behaviour('INV30') is not a rule, property, hazard or mutant; the nearest of 204 are *",
            "*test_two[[]2[]]: behaviour('CHK-1O') is not a rule, *CHK-10*",
            "*test_three: behaviour() takes one or more ids, such as behaviour('CHK-10')",
        ]
    )
    assert done.parseoutcomes()["errors"] == 2


@pytest.mark.parametrize(
    "ways", [*(pytest.param(way, marks=pytest.mark.slow) for way in ("conftest", "installed")), "conftest installed option"]
)
def test_loaded_once_however_it_is_found(
    pytester: pytest.Pytester, inner: Callable[..., pytest.RunResult], monkeypatch: pytest.MonkeyPatch, ways: str
) -> None:
    if "conftest" in ways:
        pytester.makeconftest(f"pytest_plugins = [{PLUGIN!r}, {INSTALLED!r}]")
    if "installed" in ways:
        monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
        declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
        about = pytester.mkdir("site") / "stand_in-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stand-in\nVersion: 1\n")
        (about / "entry_points.txt").write_text("[pytest11]\n" + "".join(f"{name} = {at}\n" for name, at in declared.items()))
        monkeypatch.setenv("PYTHONPATH", str(about.parent) + os.pathsep + os.environ["PYTHONPATH"])
    pytester.makepyfile(
        test_marked=f"""
        import sys, pytest

        @pytest.mark.behaviour("CHK-10")
        def test_names_of_the_plugin(pytestconfig):
            for wanted in {[PLUGIN, INSTALLED]!r}:
                found = [name for name, plugin in pytestconfig.pluginmanager.list_name_plugin() if plugin is sys.modules[wanted]]
                assert found == [wanted]
        """
    )
    options = ("-p", PLUGIN, "-p", INSTALLED) if "option" in ways else () if "conftest" in ways else ("-p", PLUGIN)
    done = inner(*options, "--requirements=results.json")
    done.assert_outcomes(passed=1)
    assert "CHK-10" in json.loads((pytester.path / "results.json").read_text())


def test_results_that_cannot_be_written_stop_before_tests(pytester: pytest.Pytester, inner: Callable[..., pytest.RunResult]) -> None:
    pytester.makepyfile(test_marked=MARKED)
    done = inner("-p", PLUGIN, "--requirements=test_marked.py/results.json")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--requirements *test_marked.py/results.json: *test_marked.py is a file and no folder*"])


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        (PLUGIN, {"numba", "z3", "numpy", "rich"}),
        (INSTALLED, {"numba", "numpy", "rocketproof_model", "rocketproof_properties.reports.choices"}),
    ],
)
def test_import_is_cheap(pytester: pytest.Pytester, inner: Callable[..., pytest.RunResult], module: str, heavy: set[str]) -> None:
    result = pytester.run(sys.executable, "-c", f"import sys, {module}; print(*sys.modules.keys() & {heavy!r})")
    assert result.ret == 0 and result.outlines == [""]


# The report


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:

    def write(**modules: str) -> str:
        folder = tmp_path / "code" / "stand_in"
        folder.mkdir(parents=True)
        for name, text in {"__init__": "", **modules}.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        monkeypatch.syspath_prepend(folder.parent)
        return folder.name

    return write


def test_places_are_docstrings_of_functions_and_classes(package: Callable[..., str]) -> None:
    name = package(
        __init__='"""A module of words only (CHK-01)."""\n',
        checks='''
        """A table of contents (CHK-02 to CHK-05)."""

        class Checks:
            """Order of the checks (CHK-02), again CHK-02, and CHK-99, which is none, as CRC-32 is."""

            async def find(self):
                """Without lock (CHK-05)."""
                # CHK-06 in a comment
                def inner():
                    """CHK-07"""
                return "CHK-08"

        if True:
            def later():
                """CHK-05"""
        ''',
    )
    assert requiring.implemented(name) == {
        "CHK-01": ["stand_in"],
        "CHK-02": ["stand_in.checks:Checks"],
        "CHK-05": ["stand_in.checks:Checks.find", "stand_in.checks:later"],
        "CHK-07": ["stand_in.checks:Checks.find.<locals>.inner"],
    }


def test_code_that_cannot_be_parsed_is_named(package: Callable[..., str]) -> None:
    with pytest.raises(InputError, match=r"broken\.py cannot be read .*line 1"):
        requiring.implemented(package(broken="def ("))


def test_missing_package_is_named() -> None:
    with pytest.raises(InputError, match="no_such_package is not installed"):
        requiring.implemented("no_such_package")


@pytest.mark.parametrize(
    ("evidence", "status", "reason"),
    [
        ({"implementation": ("m:f",), "tests": ("t",)}, "covered", ""),
        ({"implementation": ("m:f",), "tests": ("t",), "skipped": ("s",)}, "covered", ""),
        ({"implementation": ("m:f",), "tests": ("t",), "failed": ("u",)}, "failed test", "a marked test failed"),
        ({"implementation": ("m:f",)}, "no test", "no marked test of it ran"),
        ({"implementation": ("m:f",), "skipped": ("s",)}, "no test", "every marked test was skipped"),
        ({"tests": ("t",)}, "no implementation", "no code names it"),
        ({}, "no implementation", "no code names it; no marked test of it ran"),
    ],
)
def test_status(evidence: Mapping[str, tuple[str, ...]], status: str, reason: str) -> None:
    found = requiring.Requirement(BehaviourRule("CHK-10", "D.3", "A sentence."), **evidence)
    assert (found.status, found.reason, found.is_gap) == (status, reason, status != "covered")


@pytest.fixture
def rocketproof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command, 100 columns wide; all rules are implemented and only some actions are known."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setattr(requiring, "implemented", lambda: {id_: ["m:f"] for id_ in rules()})
    monkeypatch.setattr(requiring, "stated", lambda: {"CHK-10": ["accept_queue", "refuse_queue"]})

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(tokens)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def results(**left_out: Any) -> dict[str, Any]:
    """Build a passed test for every rule, except the given results."""
    full = {id_: {"passed": [f"t.py::{id_}"], "failed": [], "skipped": []} for id_ in rules()}
    return full | {id_.replace("_", "-"): outcomes for id_, outcomes in left_out.items()}


def test_no_gap_is_exit_0(rocketproof: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(results()))
    code, out, err = rocketproof("requirements", "--results", "r.json")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "204 rules: 204 covered"
    assert "CHK-10" not in out and "no test" not in out
    assert next(line for line in out.splitlines() if "D.3" in line).split() == [
        "D.3",
        "Broker:",
        "checks",
        "of",
        "a",
        "message",
        "11",
        "11",
    ]


def test_gaps_are_exit_1_and_named(rocketproof: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    none: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    (tmp_path / "r.json").write_text(json.dumps(results(CHK_10=none, CHK_11=none | {"passed": ["t.py::a"], "failed": ["t.py::b"]})))
    code, out, _ = rocketproof("requirements", "--results", "r.json")
    assert code == 1
    gaps = out[out.index("\n! ") :].splitlines()[1:]
    assert [line.rstrip() for line in gaps] == [
        f"! CHK-10  {rules()['CHK-10'].sentence} (no",
        "          marked test of it ran)",
        "          code   m:f",
        "          model  accept_queue",
        "          model  refuse_queue",
        f"! CHK-11  {rules()['CHK-11'].sentence} (a marked test failed)",
        "          code   m:f",
        "          failed t.py::b",
        "204 rules: 202 covered, 1 no test, 1 failed test",
    ]


def test_all_lists_every_rule(rocketproof: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(results()))
    _, out, _ = rocketproof("requirements", "--results", "r.json", "--all")
    assert [line.split()[0] for line in out.splitlines() if ID.match(line.strip())] == list(rules())
    assert "test   t.py::CHK-10" in out


def test_json_shape(rocketproof: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(results()))
    assert rocketproof("requirements", "--results", "r.json", "--json", "out.json")[0] == 0
    found = {row["id"]: row for row in json.loads((tmp_path / "out.json").read_text())}
    assert list(found) == list(rules())
    assert found["CHK-10"] == {
        "id": "CHK-10",
        "section": "D.3",
        "sentence": rules()["CHK-10"].sentence,
        "implementation": ["m:f"],
        "tests": ["t.py::CHK-10"],
        "failed": [],
        "model": ["accept_queue", "refuse_queue"],
        "status": "covered",
        "reason": "",
    }


def test_without_results_marked_tests_are_run(rocketproof: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "test_marked.py").write_text(textwrap.dedent(MARKED))
    assert rocketproof("requirements", "--tests", "checks", "--json", "out.json")[0] == 1
    found = {row["id"]: row for row in json.loads((tmp_path / "out.json").read_text())}
    assert found["CHK-10"]["tests"] == [name.replace("test_marked", "checks/test_marked") for name in OUTCOMES["CHK-10"]["passed"]]
    assert {id_: found[id_]["status"] for id_ in ("CHK-10", "TCM-15", "NS-01")} == {
        "CHK-10": "failed test",
        "TCM-15": "no test",
        "NS-01": "no test",
    }


@pytest.mark.parametrize(("processes", "ended"), few([("", 2), ("-p xdist -n 1", 1)], 1))
def test_tests_that_cannot_be_run(
    rocketproof: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: str, ended: int
) -> None:
    """Having no results is better than having the results of some tests."""
    monkeypatch.setenv("PYTEST_ADDOPTS", processes)
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "test_broken.py").write_text("import no_such_module\n")
    (tmp_path / "checks" / "test_marked.py").write_text(textwrap.dedent(MARKED))
    code, _, err = rocketproof("requirements", "--tests", "checks")
    assert code == 2 and err.endswith(f"could not be run (pytest ended with {ended}); fix what it says above\n")


def test_older_results_go_away_if_tests_cannot_be_collected(pytester: pytest.Pytester, inner: Callable[..., pytest.RunResult]) -> None:
    (pytester.path / "results.json").write_text("{}")
    pytester.makepyfile(test_broken="import no_such_module")
    inner("-p", PLUGIN, "--requirements=results.json")
    assert not (pytester.path / "results.json").exists()


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["--results", "none.json"], "results none.json cannot be read (No such file or directory); make them with"),
        (["--results", "text.json"], "results text.json are not JSON; make them with"),
        (["--results", "list.json"], "list.json holds no results by id; make them with"),
        (["--results", "shape.json"], "shape.json holds no results by id; make them with"),
        (["--results", "list.json", "--tests", "."], "--tests with --results: with results no test is run"),
        (["--tests", "none"], "--tests none is not a folder; give the folder of tests with --tests"),
        (["--results", "list.json", "--json", "list.json/out.json"], "--json list.json/out.json: "),
    ],
)
def test_bad_input_exits_2_with_one_line(
    rocketproof: Callable[..., tuple[int, str, str]], tmp_path: Path, tokens: list[str], said: str
) -> None:
    (tmp_path / "text.json").write_text("passed")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "shape.json").write_text('{"CHK-10": {"passed": "t.py::test"}}')
    code, out, err = rocketproof("requirements", *tokens)
    assert (code, out) == (2, "") and err.startswith(f"rocketproof: {said}") and err.count("\n") == 1


# Locations of an id


LOOKED_UP = ("CHK-10", "TCM-15", "REM-03", "INV-34", "LIV-03", "HAZ-01", "M-79")


@pytest.fixture(scope="module")
def looked_up() -> Mapping[str, references.IdReferences]:
    """Look up all ids at once, because each lookup reads the sources again."""
    return dict(zip(LOOKED_UP, references.look_up(LOOKED_UP), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("id_", LOOKED_UP)
def test_sources_of_id_are_listed(id_: str, looked_up: Mapping[str, references.IdReferences]) -> None:
    """The imported code, specification, catalogue, gallery and table of mutants have the same sources."""
    found = looked_up[id_]
    names = {kind: [reference.name for reference in found.of(kind)] for kind in references.KINDS}
    assert {place.rpartition(":")[2] for place in requiring.implemented().get(id_, ())} <= set(names["code"])
    assert set(requiring.stated().get(id_, ())) <= set(names["action"])
    assert {claim.id for claim in (*CLAIMS, *HISTORY_CLAIMS) if claim.id.partition(".")[0] == id_} <= set(names["property"])
    assert {hazard.id for hazard in HAZARDS.values() if id_ in (hazard.id, *hazard.asserts, *hazard.properties)} <= set(names["hazard"])
    assert {row.id for row in ROWS if id_ in (row.id, *row.killers)} <= set(names["mutant"])
    assert names["test"] and found.sentence
    for kind in references.KINDS:
        for source in found.of(kind):
            lines = (ROOT / source.file).read_text("utf-8").splitlines()[max(0, source.line - 4) : source.line + 8]
            assert any(source.name.rpartition(".")[2] in line or id_ in line for line in lines), source


def test_a_mutant_has_its_killers_and_the_functions_that_it_changes() -> None:
    (found,) = references.look_up(("m-102",))
    assert list(found.killers) == ["DLQ-04", "BACK-12", "LIV-06"] and all(found.killers.values())
    changed = {one.name: one.sentence for one in found.of("code")}
    assert changed == {"handle_retry_and_dlq": "a: >= most → > most", "is_dead": "b: >= most → > most"}
    assert found.record()["killers"][0]["id"] == "DLQ-04"


def test_every_function_that_a_mutant_changes_is_found_in_the_sources() -> None:
    sources = references._sources(None)
    for mutant in nonempty(mutants()):
        for one in nonempty(list(references._changed(sources, mutant))):
            lines = (ROOT / one.file).read_text("utf-8").splitlines()
            assert one.line > 1 and one.name.rpartition(".")[2] in lines[one.line - 1], (mutant.id, one)


def test_a_rule_has_the_properties_that_its_mutants_and_hazards_name() -> None:
    (found,) = references.look_up(("CHK-10",))
    assert {"INV-30", "INV-31"} <= {reference.name for reference in found.of("property")}
    assert found.section == "D.3 Broker: checks of a message"


def test_id_is_shown_with_its_places(rocketproof: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, out, err = rocketproof("requirements", "chk-10", "LIV-03", "--json", "out.json")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    heading = f"CHK-10  {rules()['CHK-10'].sentence} (D.3 Broker: checks of a message)"
    assert " ".join(out.split()).startswith(" ".join(heading.split()))
    assert any(line.startswith("  model     model/") and line.endswith("  accept_queue") for line in lines)
    assert any(line.startswith("  test      tests/impl/test_sending_checks.py:") for line in lines)
    rows = json.loads((tmp_path / "out.json").read_text())
    assert [(row["id"], list(row)) for row in rows] == [
        (id_, ["id", "section", "sentence", "killers", "references"]) for id_ in ("CHK-10", "LIV-03")
    ]
    assert list(rows[0]["references"]) == list(references.KINDS)
    assert {"name", "sentence", "file", "line"} == rows[0]["references"]["test"][0].keys()


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["CHK-100"], "unknown id 'CHK-100'; the nearest of "),
        (["INV-98"], "unknown id 'INV-98'; the nearest of "),
        (["CHK-10", "--all"], "--all with ids: where they are stated is read from the sources"),
        (["CHK-10", "--results", "r.json"], "--results with ids: "),
        (["CHK-10", "--tests", "none"], "--tests none is not a folder; "),
    ],
)
def test_invalid_ids_cannot_be_queried(rocketproof: Callable[..., tuple[int, str, str]], tokens: list[str], said: str) -> None:
    code, out, err = rocketproof("requirements", *tokens)
    assert (code, out) == (2, "") and err.startswith(f"rocketproof: {said}") and err.count("\n") == 1
