"""The files for containers, without an engine: they are well formed, open nothing beyond this machine, and their commands work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocketproof_properties.brokers.ports import AROUND_BROKER, Addresses
from rocketproof_properties.brokers.routed import await_routes, brokers_of

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "properties" / "examples" / "container"
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENV", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
SMALL = ["--set", "mappedFileSizeCommitLog=1048576", "--set", "mappedFileSizeConsumeQueue=20000"]


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Containerfile with their arguments."""
    text = re.sub(r"^\s*#.*\n", "", (FOLDER / "Containerfile").read_text("utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


def value(name: str) -> str:
    """Return the arguments of the last instruction of a name."""
    return [rest for found, rest in instructions() if found == name][-1]


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    return loaded


def test_containerfile_is_well_formed_and_without_root() -> None:
    names = [name for name, _ in instructions()]
    assert set(names) <= INSTRUCTIONS and names[0] == "FROM"
    assert value("USER") not in ("root", "0")
    last = len(names) - 1 - names[::-1].index("FROM")
    assert names.index("USER", last) < names.index("ENTRYPOINT"), "the server does not run as root"
    for name in ("ENTRYPOINT", "CMD"):
        assert all(isinstance(word, str) for word in json.loads(value(name))), "the exec form gets signals"
    assert all("-slim" in rest for name, rest in instructions() if name == "FROM")
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    image = re.search(r"python:3\.(\d+)", value("FROM"))
    assert image is not None and requires == ">=3.11" and int(image[1]) >= 11


def test_wheel_of_the_image_has_what_it_is_built_from() -> None:
    """What `Containerfile.dockerignore` lets in has every file that the wheel includes."""
    lines = (FOLDER / "Containerfile.dockerignore").read_text().splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*built["packages"], *built["force-include"], "README.md", "LICENSE", "pyproject.toml"}
    assert all(any(path == name or path.startswith(f"{name}/") for name in kept) for path in needed)
    assert all((ROOT / name).exists() for name in kept)


def test_ports_are_published_on_this_machine_only() -> None:
    services = compose()["services"]
    assert set(services) == {"name-server", "broker-a", "broker-b"}
    ports = [port for service in services.values() for port in service["ports"]]
    assert all(re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port) for port in ports), "a broker tells clients the port inside"
    for name, service in services.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        if name != "name-server":
            assert service["depends_on"]["name-server"]["condition"] == "service_healthy"


class Service:
    """A service of the compose file as a process: the same command with other ports, hosts and folders."""

    def __init__(self, stack: ExitStack, folder: Path, words: list[str], replaced: dict[str, str]) -> None:
        entry = [{"0.0.0.0": "127.0.0.1", "/store": str(folder)}.get(word, word) for word in json.loads(value("ENTRYPOINT"))]
        assert entry[:2] == ["rocketproof", "serve"]
        words = [replaced.get(word, word) for word in words]
        small = [] if "0" in words else SMALL
        command = [sys.executable, "-m", "rocketproof_properties.commands", *entry[1:], *words, *small]
        self.process = subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, text=True)
        stack.callback(self.end)

    def ready(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0, "it stops on the container's signal"


def healthy(test: list[str], environment: dict[str, str], replaced: dict[str, str]) -> bool:
    words = [replaced.get(word, word) for word in test]
    functions = f'python() {{ "{sys.executable}" "$@"; }}; '
    if words[0] == "sh":
        words = ["bash", "-c", functions + words[2].removeprefix("exec ")]
    else:
        words = [sys.executable, *words[1:]]
    given = {name: replaced.get(text, text) for name, text in environment.items()}
    return subprocess.run(words, env={**ENV, **given}, capture_output=True, timeout=60, check=False).returncode == 0


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def image_test() -> list[str]:
    """Return the command of the image's health check."""
    words: list[str] = json.loads(value("HEALTHCHECK").partition("CMD ")[2])
    return words


@pytest.mark.slow
def test_brokers_are_healthy_when_they_are_in_the_route(tmp_path: Path, stack: ExitStack) -> None:
    services, fresh = compose()["services"], Addresses()
    server, first, second = fresh.take(), fresh.take(AROUND_BROKER), fresh.take(AROUND_BROKER)
    port_of = dict(zip(("9876", "10911", "10921"), (address.rpartition(":")[2] for address in (server, first, second)), strict=True))
    replaced = {**port_of, "name-server:9876": server, "127.0.0.1:9876": server}
    health = services["name-server"]["healthcheck"]["test"]
    assert health[0] == "CMD" and not healthy(health[1:], {}, replaced), "nothing runs yet"
    Service(stack, tmp_path / "names", services["name-server"]["command"], replaced).ready()
    assert healthy(health[1:], {}, replaced)
    for name in ("broker-a", "broker-b"):
        assert not healthy(image_test(), services[name]["environment"], replaced)
        Service(stack, tmp_path / name, services[name]["command"], replaced).ready()
        assert healthy(image_test(), services[name]["environment"], replaced)
    await_routes(server, ["orders"], ["broker-a", "broker-b"])


def test_image_alone_is_healthy(tmp_path: Path, stack: ExitStack) -> None:
    words = json.loads(value("CMD"))
    fresh = Addresses()
    server, broker = fresh.take(), fresh.take(AROUND_BROKER)
    ports = ["--nameserver-port", server.rpartition(":")[2], "--port", broker.rpartition(":")[2]]
    environment = dict(pair.split("=") for pair in value("ENV").split())
    Service(stack, tmp_path / "store", [*words, *ports], {}).ready()
    assert healthy(image_test(), environment, {"127.0.0.1:9876": server})
    assert brokers_of(server, "orders") == {"broker-a"}
