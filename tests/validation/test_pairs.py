"""A broker with a name server of another release: how a user names the pair, how it starts, and how it is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_validate_command import refused

from rocketproof_impl.remoting.command import Command
from rocketproof_profiles import PROFILES, lineage, profile_of
from rocketproof_profiles.switches import OF_NAME_SERVERS, SWITCHES
from rocketproof_properties.brokers import apache, jars
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.choose import choose
from rocketproof_properties.brokers.connection import SECONDS
from rocketproof_properties.brokers.forms import TargetForm, form_of
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.processes import Launch
from rocketproof_properties.catalogue.stored import settings
from rocketproof_properties.judging.claims import cases
from rocketproof_properties.programs.parts import NAME_SERVER
from rocketproof_protocol.codes import GET_ROUTEINFO_BY_TOPIC

PAIR = "apache:4.9.7+apache:5.1.0"
PARTS = (NAME_SERVER, "broker-a")


def test_pair_is_target_of_its_broker_first() -> None:
    found = choose(None, PAIR, None, configure=False)
    assert isinstance(found, Apache)
    assert (found.name, found.version, found.profile) == (PAIR, "4.9.7+5.1.0", "P494+P510")
    assert found.releases == ("4.9.7", "5.1.0")
    assert all(f"no profile was recorded of {version}" in found.note for version in ("4.9.7", "5.1.0"))
    assert choose(None, PAIR, "P494", configure=False).profile == "P494"


def test_equal_profiles_or_releases_are_judged_by_one_profile() -> None:
    assert (Apache("4.9.4", name_server="4.9.5").name, Apache("4.9.4", name_server="4.9.5").profile) == (
        "apache:4.9.4+apache:4.9.5",
        "P494",
    )
    twice, once = Apache("5.3.3", name_server="5.3.3"), Apache("5.3.3")
    assert (twice.name, twice.version, twice.profile, twice.note) == (once.name, once.version, once.profile, once.note)


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (("--pair", PAIR, "--target", "served"), "--pair and --target both say what to start"),
        (("127.0.0.1:1", "--pair", PAIR), "give either the address of a broker"),
        (
            ("--pair", "apache:4.9.4"),
            "--pair apache:4.9.4: a pair is a broker and a name server of two releases, such as apache:4.9.4+apache",
        ),
        (("--pair", "apache:4.9.4+"), "--pair apache:4.9.4+: a pair is"),
        (("--target", "+apache:4.9.4"), "--target +apache:4.9.4: a pair is"),
        (("--pair", "apache:4.9.4+served"), "--pair apache:4.9.4+served: a pair is"),
        (("--pair", "served+inprocess"), "--pair served+inprocess: a pair is"),
        (("--target", "apache:4.9.4+apache:5.1.0+apache:5.3.3"), "a pair is"),
        (("--target", "apache:4.9.4+apache:newest"), "apache:newest names no release"),
        (("--pair", "apache:oldest+apache:4.9.4"), "apache:oldest names no release"),
        (("--pair", PAIR, "--again", "nowhere"), "--again with a broker"),
        (("--pair", PAIR, "--profile", "P494+P600"), "unknown profile 'P494+P600'"),
    ],
)
def test_invalid_pair_is_one_line(capsys: pytest.CaptureFixture[str], tokens: tuple[str, ...], said: str) -> None:
    assert said in refused(capsys, *tokens)


def test_file_may_have_sign_in_its_name() -> None:
    assert form_of("a+b.toml") == TargetForm("file", "a+b.toml")
    assert form_of("served+served") is None


def test_each_part_starts_with_jars_of_its_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Started:
        def __init__(self) -> None:
            self.name_server, self.brokers = "127.0.0.1:1", {"broker-a": "127.0.0.1:2"}
            self.settings = {"broker-a": {"brokerPermission": "4"}}
            self.name_server_settings: dict[str, str] = {}
            self.clocks: dict[str, int] = {}

        def home(self, part: str) -> Path:
            (tmp_path / part).mkdir()
            return tmp_path / part

        def store_folder(self, part: str) -> Path:
            return tmp_path / part / "store"

    monkeypatch.setattr(jars, "folder", lambda version: Path("/jars") / version)
    monkeypatch.setattr(jars, "java", lambda: "java")
    started: list[Launch] = []

    class Beginning:
        def __init__(self, builder: Any) -> None:
            self.builder = builder

        def begin(self) -> None:
            started.extend(self.builder.launch(Started(), part) for part in PARTS)

    monkeypatch.setattr(apache, "opened", lambda make: make())
    monkeypatch.setattr(apache, "Processes", lambda builder, setup: Beginning(builder))
    Apache("4.9.4", name_server="5.3.3").open()
    assert [process.command[process.command.index("-cp") + 1] for process in started] == ["/jars/5.3.3/*", "/jars/4.9.4/*"]
    packages = [(tmp_path / part / "conf" / "logback.xml").read_text("utf-8").count("rocketmq.logging") for part in PARTS]
    assert packages == [1, 0]
    assert "timerWheelEnable" not in (tmp_path / "broker-a" / "server.conf").read_text("utf-8")


@pytest.mark.parametrize(("broker", "name_server"), [("P494", "P533"), ("P533", "P494"), ("P40", "P540")])
def test_pair_profile_combines_switches_of_broker_and_name_server(broker: str, name_server: str) -> None:
    pair = profile_of(f"{broker}+{name_server}")
    assert {name: getattr(pair, name) for name in OF_NAME_SERVERS} == {
        name: getattr(PROFILES[name_server], name) for name in OF_NAME_SERVERS
    }
    others = [name for name in SWITCHES if name not in OF_NAME_SERVERS]
    assert {name: getattr(pair, name) for name in others} == {name: getattr(PROFILES[broker], name) for name in others}
    assert lineage(pair.name) == (pair.name, *lineage(broker))
    assert pair.name in PROFILES and pair.name not in list(PROFILES)


def test_invalid_pair_of_profiles_is_no_profile() -> None:
    for name in ("P494+", "+P494", "P494+P600", "P494+P494+P494", "P600"):
        assert name not in PROFILES
        with pytest.raises(KeyError):
            PROFILES[name]


def test_pair_expects_what_its_broker_expects() -> None:
    assert cases("P45+P533") == cases("P45") != cases("P533")
    assert settings("P45+P533") == settings("P45") != settings("P533")


@pytest.mark.behaviour("NS-06")
@pytest.mark.parametrize("profile", ["P494+P533", "P533+P494", "P49+P494", "P494+P49"])
def test_name_server_answers_as_its_release(profile: str) -> None:
    """Query the routes of an unknown topic and of an empty name."""

    def asked(of: str) -> list[tuple[int, str | None]]:
        with InProcess(of).open() as running:
            line = running.connect(NAME_SERVER)
            answers = [line.ask(Command(GET_ROUTEINFO_BY_TOPIC, fields), SECONDS) for fields in ({"topic": "T"}, {})]
            line.close()
            return [(answer.code, answer.remark) for answer in answers]

    broker, _, name_server = profile.partition("+")
    assert asked(profile) == asked(name_server) != asked(broker)
