"""`rocketproof explore`: inputs that it opens, writes as a page, serves until Ctrl-C, or refuses in one line."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

import rocketproof_model
import rocketproof_properties
import rocketproof_traces
from rocketproof_properties.commands.explorer.findings import of_report
from rocketproof_properties.commands.explorer.hazards import case_of, opened
from rocketproof_properties.commands.explorer.openings import Openings
from rocketproof_properties.commands.explorer.pages import of_validation, write
from rocketproof_properties.commands.explorer.traces import Wish, of_file, of_wish
from rocketproof_properties.hazards import HAZARDS
from rocketproof_properties.reports.choices import InputError

SOURCE_FOLDERS = [str(Path(str(p.__file__)).parents[1]) for p in (rocketproof_model, rocketproof_traces, rocketproof_properties)]
SOURCE_FOLDERS.append(str(Path(SOURCE_FOLDERS[2])))

COIN = '''
from rocketproof_model import Bool, Int, Model

SCOPES = {"short": {"most": 2}, "long": {"most": 4}}


def model(most):
    m = Model("</script><b>coin")
    heads = m.var("heads", Bool, init=False)
    tosses = m.var("tosses", Int(0, most), init=0)

    @m.action()
    def toss(a):
        """The coin is tossed."""
        a.bound("tosses left", tosses < most, "the scope allows another toss")
        a.set(heads, ~heads)
        a.set(tosses, tosses + 1)

    m.always("tails", ~heads | (tosses < 3), "heads never comes late")
    m.always("few", tosses <= most, "there are few tosses")
    m.reachable("all", tosses == most, "all tosses can happen")
    return m
'''


def quiet(_: str) -> None:
    pass


def document(page: Path) -> Any:
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.fixture
def coin(tmp_path: Path) -> str:
    path = tmp_path / "coin.py"
    path.write_text(COIN, "utf-8")
    return str(path)


def test_a_counterexample_of_the_catalogue_becomes_a_page(rocketproof: Any, catalogue: Any, tmp_path: Path) -> None:
    done = rocketproof("explore", "--property", "D-1", "--html", "door.html")
    assert (done.code, done.out) == (0, "")
    made = document(tmp_path / "door.html")
    assert made["title"] == "D-1 (always)"
    assert made["subject"] == {
        "model": "the specification", "scope": "small", "profile": "P49", "condition": "broken lock", "engine": "explicit"
    }  # fmt: skip
    assert [row["word"] for row in made["truths"]] == ["holds"] * (len(made["truths"]) - 1) + ["fails"]
    assert made["live"] is None
    command = next(c["command"] for c in made["commands"] if c["label"] == "open it again")
    assert command == "rocketproof explore --property D-1 --profile P49 --condition 'broken lock'"


def test_holding_property_opens_as_a_walk_with_a_note(rocketproof: Any, catalogue: Any, tmp_path: Path) -> None:
    assert rocketproof("explore", "--property", "D-2", "--html", "door.html").code == 0
    made = document(tmp_path / "door.html")
    assert (made["title"], made["steps"]) == ("D-2: a walk", [])
    assert made["note"].startswith("There is no trace to show (P49: holds, ")
    assert made["model"]["program"]["actions"]
    assert rocketproof("explore", "--property", "D-3", "--html", "door.html").code == 0
    assert document(tmp_path / "door.html")["end"].startswith("D-3 is reached after step ")
    assert rocketproof("explore", "--scope", "tiny", "--html", "door.html").code == 0
    assert document(tmp_path / "door.html")["title"] == "a walk from the initial state"


def test_saved_witness_and_own_model_are_shown(rocketproof: Any, coin: str, tmp_path: Path) -> None:
    """A witness from `check` and from `explore` are shown identically; hostile names are escaped."""
    rocketproof("check", coin, "--scope", "long")
    (kept,) = [p for p in (tmp_path / ".rocketproof" / "witnesses").iterdir() if "tails" in p.name]
    assert rocketproof("explore", str(kept), "--html", "kept.html").code == 0
    assert rocketproof("explore", coin, "--property", "tails", "--scope", "long", "--html", "found.html").code == 0
    one, other = document(tmp_path / "kept.html"), document(tmp_path / "found.html")
    assert one["states"] == other["states"]
    assert one["model"]["name"] == "</script><b>coin"
    assert "</script><b>" not in (tmp_path / "kept.html").read_text("utf-8")
    assert {c["label"] for c in one["commands"]} >= {"show it as text", "explain a step", "open it again"}


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        (["nothing.itf.json"], "nothing.itf.json: "),
        (["empty"], "empty has no witness (*.itf.json), history (*.ndjson) or finding; give a folder that `rocketproof check`"),
        (["some.ndjson"], "some.ndjson is a history, which is judged by a profile; give --profile, such as P494"),
        (["report"], "is no report of a validation; give the folder that `rocketproof validate --report` has written"),
        (["report/programs/finding-1.py"], "is no report of a validation"),
        (["nowhere.py"], "nowhere.py"),
        (["coin.py", "--property", "tial", "--html", "x.html"], "unknown property 'tial'; use tails, "),
        (["coin.py", "--profile", "P49", "--html", "x.html"], "leave out --profile"),
        (["cut.itf.json", "--html", "x.html"], "cut.itf.json"),
        (["newer.itf.json", "--html", "x.html"], "update rocketproof"),
        (["cut.itf.json", "--property", "tails"], "a file is opened as it is"),
        (["--html", "x.html"], "--html needs one trace to show; give a witness, or --property ID"),
        (["lies", "--html", "x.html"], "--html needs one trace to show; give one file of the folder; the first is lies/"),
        (["--property", "tails", "--html", "coin.py/x.html"], "coin.py is a file and no folder"),
        (["--condition", "x", "--html", "x.html"], "--condition without --property"),
        (["--port", "-1"], "--port"),
        (["--port", "70000", "--no-browser"], "port 70000: cannot be used (it is no port)"),
    ],
)
def test_bad_input_is_one_line(
    tokens: list[str], says: str, rocketproof: Any, catalogue: Any, coin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: pytest.fail("it is served"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "lies").mkdir()
    (tmp_path / "lies" / "one.itf.json").write_text("{}", "utf-8")
    (tmp_path / "report" / "programs").mkdir(parents=True)
    (tmp_path / "report" / "report.json").write_text("[]", "utf-8")
    (tmp_path / "some.ndjson").write_text("", "utf-8")
    (tmp_path / "cut.itf.json").write_text('{"#meta": {"format": "ITF", "rocketproof": {"schema": 1,', "utf-8")
    newer = {"#meta": {"format": "ITF", "rocketproof": {"schema": 99}}, "vars": [], "states": []}
    (tmp_path / "newer.itf.json").write_text(json.dumps(newer), "utf-8")
    done = rocketproof("explore", *tokens)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert done.err.count("\n") == 1


def test_a_lemma_has_no_path(rocketproof: Any, catalogue: Any) -> None:
    done = rocketproof("explore", "--property", "D-5", "--html", "x.html")
    assert done.code == 2
    assert "D-5 (lemma) says nothing of paths of a model" in done.err


def test_catalogue_links_of_a_page_open_their_targets(catalogue: Any, coin: str, tmp_path: Path) -> None:
    offered = Openings(folder=tmp_path).catalogue()
    assert [row["id"] for row in offered["properties"]] == ["D-1", "D-2", "D-3", "D-4"]
    assert offered["properties"][0]["cases"][1] == {
        "profile": "P49", "scope": "small", "condition": "broken lock", "expected": "violated"
    }  # fmt: skip
    openings = Openings(file=coin, folder=tmp_path)
    own = openings.catalogue()
    assert [(row["id"], [c["scope"] for c in row["cases"]]) for row in own["properties"]] == [
        (id_, ["short", "long"]) for id_ in ("tails", "few", "all")
    ]
    row = own["properties"][0]
    case = {key: row["cases"][1][key] for key in ("profile", "scope", "condition")}
    told: list[str] = []
    opened = openings.open({"property": row["id"], **case}, told.append)
    assert opened.document()["end"] == "tails fails after step 3"
    assert told[0] == "coin.py long: search"
    (tmp_path / "LIV-03-P49-endless-sends.itf.json").touch()
    assert [row["title"] for row in openings.catalogue()["witnesses"]] == ["LIV-03 · P49 · endless sends"]
    for wish, says in (({"witness": "/etc/passwd"}, "is not in"), ({"file": "x"}, "nothing that can be"), ({"scope": 1}, "as text")):
        with pytest.raises(InputError, match=says):
            openings.open(wish, quiet)


def test_witness_is_listed_with_the_condition_of_the_catalogue(tmp_path: Path) -> None:
    for stem in (
        "INV-16-P49-auto-create-off-tbw102-from-the-file-creation",
        "INV-16-P49-an-administrator-s-update",
        "INV-16-P49-no-such-case",
    ):
        (tmp_path / f"{stem}.itf.json").touch()
    assert sorted(Openings(folder=tmp_path).files().values()) == [
        "INV-16 · P49 · an administrator's update",
        "INV-16 · P49 · auto-create off, TBW102 from the file, creation",
        "INV-16 · P49 · no such case",
    ]


def history(path: Path, offset: int) -> None:
    """Write two sends to one queue; the second answer has this offset."""
    header = {"v": 1, "type": "header", "schema": "rocketproof-history", "version": 1, "origin": {}, "start": None, "note": ""}
    fields = {"producerGroup": "g", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "queueId": "0"}
    asked = {"to": "broker-a", "fields": {**fields, "sysFlag": "0", "bornTimestamp": "1", "flag": "0"}, "bodySize": 1}
    answers = [{"code": 0, "fields": {"queueId": "0", "queueOffset": str(n)}} for n in (0, offset)]
    steps = [(type_, value) for answer in answers for type_, value in (("invoke", asked), ("ok", answer))]
    events = [
        {"v": 1, "seq": k, "time": k, "process": "</script>", "type": type_, "op": "send", "value": value}
        for k, (type_, value) in enumerate(steps)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in [header, *events]), "utf-8")


def test_hazard_has_the_case_that_shows_it() -> None:
    cases = [
        {"profile": name, "scope": "s", "condition": c, "expected": "violated"}
        for name in ("P40", "P49")
        for c in ("an administrator's", "x")
    ]
    rows = [{"id": "LIV-03", "sentence": "", "cases": cases}, {"id": "INV-14", "cases": [{**cases[0], "expected": "holds"}]}]
    assert case_of(HAZARDS["HAZ-01"], "LIV-03", rows) == {"profile": "P49", "scope": "s", "condition": "x"}
    assert case_of(HAZARDS["HAZ-04"], "INV-14", rows) is None


def test_hazard_names_the_command_that_opens_the_trace_of_its_property() -> None:
    case = {"profile": "P49", "scope": "small", "condition": "auto-create off", "expected": "violated"}
    made = opened("HAZ-03", None, [{"id": "LIV-08", "sentence": "", "cases": [case]}]).document()
    assert made["commands"][-1] == {
        "label": "walk through the trace of LIV-08",
        "command": "rocketproof explore --property LIV-08 --profile P49 --scope small --condition 'auto-create off'",
    }


def test_catalogue_lists_every_hazard_with_its_scenario(catalogue: Any) -> None:
    found = {row["id"]: row for row in Openings().catalogue()["hazards"]}
    assert list(found) == list(HAZARDS)
    assert all(row["steps"] for row in found.values())
    assert (len(found["HAZ-03"]["steps"]), found["HAZ-03"]["properties"]) == (4, ["LIV-08"])


def test_hazard_opens_its_own_scenario(rocketproof: Any, catalogue: Any, tmp_path: Path) -> None:
    assert rocketproof("explore", "haz-03", "--html", "hazard.html").code == 0
    made = document(tmp_path / "hazard.html")
    assert (made["kind"], made["title"], len(made["steps"]), made["finding"]) == ("hazard", "HAZ-03", 4, "")
    assert made["steps"][3]["facts"] == [["the answer", "TOPIC_NOT_EXIST: topic[T] not exist, apply first please!"]]
    assert made == {**made, **dict(Openings().open({"hazard": "HAZ-03"}, quiet).document())}
    done = rocketproof("explore", "HAZ-99", "--html", "hazard.html")
    assert (done.code, "unknown hazard 'HAZ-99'" in done.err) == (2, True)


def test_live_hazards_are_pages_that_link_their_traces(
    rocketproof: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, coin: str
) -> None:
    case = {"profile": "P49", "scope": "small", "condition": "auto-create off", "expected": "violated"}
    monkeypatch.setattr("rocketproof_properties.commands.explorer.catalogue.properties", lambda _: [{"id": "LIV-08", "cases": [case]}])
    trace = of_wish(Wish("tails", scope="long", file=coin), quiet)
    wished: list[Wish] = []
    monkeypatch.setattr("rocketproof_properties.commands.explorer.traces.of_wish", lambda wish, _: wished.append(wish) or trace)
    done = rocketproof("hazard", "HAZ-03", "HAZ-12", "--live", "live")
    assert (done.code, wished) == (0, [Wish("LIV-08", "P49", "small", "auto-create off")])
    assert "live has 2 hazards, 1 of them with 1 counterexample as pages that need no server" in done.err
    page = "LIV-08-P49-small-auto-create-off.html"
    assert {file.name for file in (tmp_path / "live").iterdir()} == {"HAZ-03.html", "HAZ-12.html", "index.html", page}
    assert document(tmp_path / "live" / "HAZ-03.html")["properties"][0]["page"] == page
    assert document(tmp_path / "live" / page)["model"]["program"]["actions"]
    rows = (tmp_path / "live" / "index.html").read_text("utf-8").partition("<ul>")[2].split("<li>")[1:]
    assert f'<a href="{page}">LIV-08</a>' in rows[0] and '<a href="HAZ-12.html">' in rows[1] and "scenario only" in rows[1]


def test_ctrl_c_keeps_live_hazards_found_so_far(rocketproof: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = {"profile": "P49", "scope": "small", "condition": "auto-create off", "expected": "violated"}
    monkeypatch.setattr("rocketproof_properties.commands.explorer.catalogue.properties", lambda _: [{"id": "LIV-08", "cases": [case]}])

    def interrupted(wish: Wish, report: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("rocketproof_properties.commands.explorer.traces.of_wish", interrupted)
    done = rocketproof("hazard", "HAZ-03", "--live", "live")
    assert (done.code, document(tmp_path / "live" / "HAZ-03.html")["properties"][0]["page"]) == (3, "")
    (tmp_path / "file").write_text("")
    done = rocketproof("hazard", "HAZ-12", "--live", "file/live")
    assert (done.code, done.err) == (2, "rocketproof: --live file/live cannot be written (Not a directory); give a folder of your own\n")
    (tmp_path / "taken" / "index.html").mkdir(parents=True)
    done = rocketproof("hazard", "HAZ-12", "--live", "taken")
    assert done.code == 2
    assert "--live taken/index.html cannot be written (Is a directory)" in done.err


def test_a_history_and_a_finding_are_opened(rocketproof: Any, tmp_path: Path) -> None:
    history(tmp_path / "runs.ndjson", 7)
    assert rocketproof("explore", "runs.ndjson", "--profile", "P494", "--html", "runs.html").code == 0
    made = document(tmp_path / "runs.html")
    assert (made["kind"], made["verdict"]["verdict"], made["refusal"]["operation"]) == ("history", "illegal", 2)
    assert made["clients"] == ["</script>"]
    assert rocketproof("explore", "runs.ndjson", "--profile", "P494", "--around", "2", "--html", "runs.html").code == 0
    for tokens, says in (
        (
            ["runs.ndjson", "--profile", "P494", "--around", "99"],
            "--around 99: runs.ndjson has events 0 to 3; give the number of one of them",
        ),
        (["--around", "2"], "--around without a history"),
        (["cut.itf.json", "--around", "2"], "--around with cut.itf.json, which is no history"),
    ):
        done = rocketproof("explore", *tokens, "--html", "x.html")
        assert (done.code, says in done.err.splitlines()[-1]) == (2, True), done.err
    report = tmp_path / "report"
    (report / "histories").mkdir(parents=True)
    (report / "programs").mkdir()
    history(report / "histories" / "1.ndjson", 9)
    program = report / "programs" / "finding-1.py"
    program.write_text("", "utf-8")
    finding = {"property": "send.queueOffset", "text": "9 and not 1", "history": "histories/1.ndjson", "file": "programs/finding-1.py"}
    gone = {**finding, "history": "histories/2.ndjson", "file": "programs/finding-2.py"}
    data = {"schema": "rocketproof-validation", "version": 2, "profile": "P494", "findings": [finding, gone]}
    (report / "report.json").write_text(json.dumps(data), "utf-8")
    assert rocketproof("explore", str(program), "--html", "one.html").code == 0
    made = document(tmp_path / "one.html")
    assert made["title"] == "send.queueOffset: 9 and not 1"
    assert made["refusal"]["recorded"].endswith("offset 9")
    refused = {
        "property": "specification.send",
        "text": "long " * 99,
        "guard": "accept_queue: legal queue id",
        "history": finding["history"],
    }
    unguarded = {key: value for key, value in refused.items() if key != "guard"}
    (report / "report.json").write_text(json.dumps({**data, "findings": [refused, unguarded]}), "utf-8")
    titles = [each.title for each in of_report(report)]
    assert titles[0] == "specification.send: refused by accept_queue: legal queue id"
    assert titles[1].endswith("long …")
    (report / "report.json").write_text(json.dumps(data), "utf-8")
    openings = Openings(folder=report)
    (row,) = openings.catalogue()["witnesses"]
    assert row["title"] == "send.queueOffset: 9 and not 1"
    assert openings.open({"witness": row["id"]}, quiet).document()["refusal"]
    done = rocketproof("explore", str(report / "programs" / "finding-2.py"), "--html", "two.html")
    assert (done.code, "or its history is gone" in done.err) == (2, True)
    (written,) = write(tmp_path / "pages", of_validation(report))
    assert (written.path, written.title) == ("pages/1.html", "send.queueOffset: 9 and not 1")
    assert document(tmp_path / "pages" / "1.html")["title"] == written.title


def test_pages_of_a_check_and_of_a_judgement(rocketproof: Any, coin: str, tmp_path: Path) -> None:
    done = rocketproof("check", coin, "--scope", "long", "--html", "pages")
    assert "pages/index.html is the page of the run, with 2 pages to walk in: open it in a browser" in done.err
    names = sorted(p.name for p in (tmp_path / "pages" / "witnesses").glob("*.html"))
    assert names == ["coin-all-long.html", "coin-tails-long.html"]
    text = (tmp_path / "pages" / "index.html").read_text("utf-8")
    assert 'href="witnesses/coin-tails-long.html"' in text and 'href="witnesses/coin-all-long.html"' in text
    assert document(tmp_path / "pages" / "witnesses" / "coin-tails-long.html")["end"] == "tails fails after step 3"
    history(tmp_path / "runs.ndjson", 1)
    assert rocketproof("judge", "runs.ndjson", "--profile", "P494", "--html", "judged").code == 0
    assert document(tmp_path / "judged" / "witnesses" / "runs.html")["order"] == [0, 2]
    assert 'href="witnesses/runs.html"' in (tmp_path / "judged" / "index.html").read_text("utf-8")
    refused = rocketproof("judge", "runs.ndjson", "--profile", "P494", "--html", "runs.ndjson")
    assert (refused.code, "is a file; give a folder" in refused.err) == (2, True), refused.err


def test_folder_is_the_same_for_every_option(rocketproof: Any, coin: str, tmp_path: Path) -> None:
    assert rocketproof("check", coin, "--scope", "long", "--html", "a", "--report", "html:a", "--report", "html:b").code == 1
    one, other = (sorted(p.relative_to(tmp_path / n).as_posix() for p in (tmp_path / n).rglob("*.html")) for n in "ab")
    assert one == other == ["index.html", "witnesses/coin-all-long.html", "witnesses/coin-tails-long.html"]


def test_search_stops_on_request(catalogue: Any) -> None:
    def stop(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        of_wish(Wish("D-2"), stop)


def test_witnesses_are_named_by_their_case(rocketproof: Any, catalogue: Any) -> None:
    rocketproof("check", "--property", "D-1")
    (kept,) = Path(".rocketproof/witnesses").glob("*.itf.json")
    assert of_file(str(kept)).subject.condition == "broken lock"


def served(*tokens: str) -> tuple[subprocess.Popen[str], str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(SOURCE_FOLDERS), "DISPLAY": ""}
    command = [sys.executable, "-m", "rocketproof_properties.commands", "explore", "--no-browser", *tokens]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_page_is_served_before_heavy_imports() -> None:
    text = "import sys, rocketproof_properties.commands.explorer.commands, rocketproof_traces.explorer.serving; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(SOURCE_FOLDERS)}
    done = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=environment, check=True)
    heavy = {"numba", "numpy", "z3", "pyarrow", "hypothesis", "networkx", "rocketproof_spec", "rocketproof_impl"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.slow
def test_two_explorers_are_served_until_ctrl_c(coin: str) -> None:
    """Each has its own port and token; a port in use is refused."""
    first, address = served(coin)
    second, other = served(coin, "--scope", "short")
    try:
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{20,})", address)
        assert found, address
        with urlopen(address) as page:
            assert b'id="document">null</script>' in page.read()
        asked = Request(f"http://127.0.0.1:{found[1]}/api/start", headers={"Authorization": f"Bearer {found[2]}"})
        with urlopen(asked) as answer:
            start = json.load(answer)
        assert [row["id"] for row in start["catalogue"]["properties"]] == ["tails", "few", "all"]
        assert other.startswith("http://127.0.0.1:")
        assert other != address
        third, nothing = served(coin, "--port", found[1])
        _, refused = third.communicate(timeout=60)
        assert (third.returncode, nothing) == (2, "")
        assert f"port {found[1]}: is in use; give another --port" in refused
    finally:
        first.send_signal(signal.SIGINT)
        second.send_signal(signal.SIGTERM)
    for process in (first, second):
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, "Traceback" in errors) == (0, False), errors
