"""The fields of request headers, the names of message properties and the settings that releases have, read from their jars.

`released.json` keeps them: for each header, property or setting the first and the last release that has it. `javap` reads the classes.
"""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from rocketproof_model import RocketproofError
from rocketproof_profiles.releases import startable, version_key
from rocketproof_properties.brokers import jars
from rocketproof_properties.brokers.children import completed

FILE: Final = Path(__file__).with_name("released.json")
CONFIGS: Final = ("BrokerConfig", "MessageStoreConfig", "NamesrvConfig")
"""The classes of settings."""
PROPERTIES: Final = "MessageConst"
"""The class with the names of message properties."""
_ARTIFACT: Final = re.compile(r"rocketmq-(common|remoting|store|broker|namesrv)-[0-9]")
_CLASS: Final = re.compile(rf"/(\w+RequestHeader|{PROPERTIES}|{'|'.join(CONFIGS)})\.class$")
_HEAD: Final = re.compile(r"(?:class|interface) ([\w.]+)(?: extends ([\w.]+))?.*\{$")
_MEMBER: Final = re.compile(r"\s+(.*\s)?([\w.<>\[\], ]+) (\w+)(?: = \"(.*)\")?;$")


class ReleasedField(NamedTuple):
    """A field of a class, with the first and the last release that has it. For a property, `name` is its name in messages."""

    owner: str
    name: str
    first: str
    last: str

    def exists_in(self, version: str) -> bool:
        return version_key(self.first) <= version_key(version) <= version_key(self.last)


@cache
def released() -> tuple[ReleasedField, ...]:
    """Return all fields of all releases that can be started, by class and name."""
    rows = json.loads(FILE.read_text("utf-8"))
    return tuple(ReleasedField(owner, name, *span) for owner, names in rows.items() for name, span in names.items())


def read_again() -> int:
    """Read the jars of all releases that can be started and write the file. Returns the number of fields. Raises RocketproofError."""
    spans: dict[tuple[str, str], list[str]] = {}
    for version in sorted(startable(), key=version_key):
        for owner, name in fields_of(jars.folder(version)):
            spans.setdefault((owner, name), []).append(version)
    rows: dict[str, dict[str, list[str]]] = {}
    for (owner, name), versions in sorted(spans.items()):
        rows.setdefault(owner, {})[name] = [versions[0], versions[-1]]
    FILE.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    return len(spans)


def fields_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield class and name of each field in a folder of jars. A header has the inherited fields too. Raises RocketproofError."""
    paths = [path for path in sorted(folder.glob("rocketmq-*.jar")) if _ARTIFACT.match(path.name)]
    classes = [name for path in paths for name in zipfile.ZipFile(path).namelist() if _CLASS.search(name)]
    names = [name.removesuffix(".class").replace("/", ".") for name in classes]
    parents, members = _disassembled(paths, names)
    for owner in members:
        above: str | None = owner
        while above is not None:
            yield from ((owner, name) for name in members.get(above, ()))
            above = parents.get(above)


def _disassembled(paths: Sequence[Path], classes: Sequence[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    command = ["javap", "-p", "-constants", "-cp", ":".join(map(str, paths)), *classes]
    done = completed(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise RocketproofError(f"javap cannot read {paths[0].parent}: {done.stderr.strip().splitlines()[-1:]}; it needs a JDK on the PATH")
    parents: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    owner = ""
    for line in done.stdout.splitlines():
        if head := _HEAD.search(line):
            owner = head[1].rpartition(".")[2]
            members[owner] = []
            if head[2]:
                parents[owner] = head[2].rpartition(".")[2]
        elif (member := _MEMBER.match(line)) and "(" not in line:
            is_constant = "static" in (member[1] or "")
            if is_constant == (owner == PROPERTIES):
                members[owner].append(member[4] if is_constant else member[3])
    return parents, {owner: [name for name in names if name and not name.isspace()] for owner, names in members.items()}
