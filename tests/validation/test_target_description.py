"""A target described by a file: a mistake in it is one line that begins with file and line number."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_properties.brokers.choose import choose
from rocketproof_properties.brokers.command import CommandTarget, program
from rocketproof_properties.brokers.deployment import OF_TARGETS, NotOffered, Setup, TargetError
from rocketproof_properties.brokers.description import read
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.reports.choices import InputError

GOOD = """name = "x"
profile = "P45"
without = ["kill"]

[broker]
start = ["run", "--port", "{port}", "--dir", "{store}", "--conf", "{settings}", "{{literally}}"]
stop = ["halt", "{name}"]
ready = "boot (success|ok)"
env = { HOME = "{home}", N = 3, ON = true }
around = [-2, 1]

[broker.settings]
brokerName = "{name}"

[limits]
ready = 5
stop = 1.5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "target.toml"
    path.write_text(text, "utf-8")
    return path


def test_description_is_read(tmp_path: Path) -> None:
    found = read(written(tmp_path, GOOD))
    assert (found.name, found.version, found.profile, found.name_server) == ("x", "", "P45", None)
    assert found.broker.start[:3] == ("run", "--port", "{port}")
    assert found.broker.stop == ("halt", "{name}")
    assert found.broker.ready is not None and found.broker.ready.search("boot ok")
    assert found.broker.env == {"HOME": "{home}", "N": "3", "ON": "true"}
    assert set(found.broker.around) == {-2, 0, 1}
    assert (found.ready_seconds, found.stop_seconds) == (5.0, 1.5)
    assert found.without == {Capability.KILL}


def test_name_server_may_have_settings_too(tmp_path: Path) -> None:
    text = '[name-server]\nstart = ["x", "{settings}"]\n[name-server.settings]\nlistenPort = "{port}"\n[broker]\nstart = ["y"]\n'
    server = read(written(tmp_path, text)).name_server
    assert server is not None and server.settings == {"listenPort": "{port}"}
    assert Capability.START_NAME_SERVER in CommandTarget(written(tmp_path, text)).offers


def test_capabilities_follow_from_description(tmp_path: Path) -> None:
    assert CommandTarget(written(tmp_path, GOOD)).offers == OF_TARGETS - {Capability.KILL, Capability.START_NAME_SERVER}
    bare = CommandTarget(written(tmp_path, '[broker]\nstart = ["run", "{port}"]\n'))
    assert bare.offers == OF_TARGETS - {Capability.STORE, Capability.START, Capability.START_NAME_SERVER}
    assert bare.name == "target"
    with pytest.raises(NotOffered, match=r"no \{settings\}"):
        bare.open(Setup(settings={"brokerPermission": "4"}))
    with pytest.raises(NotOffered, match=r"name server's start command has no \{settings\}"):
        bare.open(Setup(name_server={"orderMessageEnable": "true"}))
    with pytest.raises(NotOffered, match=r"no \{store\}"):
        bare.open(Setup(stores={"broker-a": tmp_path}))


def test_port_next_to_own_is_kept_free(tmp_path: Path) -> None:
    found = read(
        written(tmp_path, '[broker]\nstart = ["x", "{port}", "{port-2}"]\naround = [3]\n[broker.settings]\nha = "{port+1}"\n')
    ).broker
    assert sorted(found.ports) == [-2, 0, 1, 3]
    assert found.beside(100) == {"port": "100", "port-2": "98", "port+1": "101", "port+3": "103"}


def test_program_is_searched_in_folders_then_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'programs = ["{folder}/bin", "{cache}/x"]\ninstall = "get it into {cache}"\n[broker]\nstart = ["broker-of-nobody", "{port}"]\n'
    target = CommandTarget(written(tmp_path, text))
    monkeypatch.setenv("ROCKETPROOF_CACHE", str(tmp_path / "cache"))
    with pytest.raises(TargetError) as caught:
        target.open()
    folders = f"{tmp_path}/bin, {tmp_path}/cache/x, PATH"
    assert str(caught.value) == f"target: there is no broker-of-nobody in {folders}; get it into {tmp_path}/cache"
    mine = tmp_path / "bin" / "broker-of-nobody"
    mine.parent.mkdir()
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    assert program(target.description, target.description.broker) == str(mine)


def test_brokers_of_others_are_known_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = choose(None, "rust", None, configure=False)
    assert (target.name, target.profile, target.offers) == (
        "rust",
        "P533",
        OF_TARGETS - {Capability.CONFIGURE, Capability.START_NAME_SERVER},
    )
    monkeypatch.setenv("ROCKETPROOF_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match="cargo install rocketmq-namesrv"):
        target.open()


def test_needed_file_is_checked_before_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = choose(None, "alibaba", None, configure=False)
    assert (target.name, target.profile, target.offers) == ("alibaba", "P420", OF_TARGETS - {Capability.CONFIGURE})
    monkeypatch.setenv("ROCKETPROOF_CACHE", str(tmp_path))
    with pytest.raises(TargetError) as caught:
        target.open()
    where = f"{tmp_path}/alibaba"
    assert str(caught.value).startswith(f"alibaba: there is no {where}/rocketmq-namesrv-3.2.6.jar; mvn -f ")
    assert str(caught.value).endswith(f" -DoutputDirectory={where}")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("name = \n", 1, "Invalid value"),
        ('name = "x"\nname = "y"\n', 2, "Cannot overwrite"),
        ("[broker", 1, "Expected ']'"),
        ('name = "x"\n', 1, "the table [broker]"),
        ("name = 3\n[broker]\nstart = ['x']\n", 1, "name is not a text but 3; put it into quotes"),
        ('profile = "P50"\n[broker]\nstart = ["x"]\n', 1, "unknown profile 'P50'"),
        ('[broker]\n\nstart = "x"\n', 3, "start is not a list of texts but 'x'"),
        ("[broker]\nstart = []\n", 2, "start is empty"),
        ('[name-server]\nready = "x"\n[broker]\nstart = ["x"]\n', 1, "no start command"),
        ('[broker]\nstart = ["x"]\n\nstrat = ["y"]\n', 4, "unknown key 'strat' in [broker]"),
        ('[broker]\nstart = ["x"]\n[limit]\nready = 3\n', 3, "unknown key 'limit'"),
        ('[broker]\nstart = ["x", "{prot}"]\n', 2, "unknown placeholder {prot}"),
        ('[broker]\nstart = ["x", "{port+0}"]\n', 2, "unknown placeholder {port+0}"),
        ('programs = "bin"\n[broker]\nstart = ["x"]\n', 1, 'give programs = ["folder"]'),
        ('[broker]\nstart = ["x", "{port"]\n', 2, "write {{ for a brace"),
        ('[broker]\nstart = ["x"]\nready = "("\n', 3, "ready is not a regular expression"),
        ('[broker]\nstart = ["x"]\naround = [1.5]\n', 3, "around is not a list of distances"),
        ('[broker]\nstart = ["x"]\nenv = { A = [1] }\n', 3, "A is not a text or a number"),
        ('without = ["kil"]\n[broker]\nstart = ["x"]\n', 1, "unknown capability 'kil'; use kill"),
        ('[broker]\nstart = ["x"]\n[limits]\nstop = -1\n', 4, "stop is not a number of seconds above 0 but -1"),
        ('limits = 3\n[broker]\nstart = ["x"]\n', 1, "limits is not a table but 3"),
        ('[name-server]\nstart = ["x"]\nlimits = { ready = 1 }\n[broker]\nstart = ["x"]\n', 3, "unknown key 'limits' in [name-server]"),
    ],
)
def test_mistake_is_reported_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read(path)
    error = str(caught.value)
    assert error.startswith(f"{path}:{line}: ") and said in error and "\n" not in error, error


def test_missing_or_binary_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="it is not a text"):
        read(tmp_path / "bytes.toml")
