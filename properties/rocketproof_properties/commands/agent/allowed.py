"""Limits of the tools: files inside the start folder, brokers of this machine, and Python files only if the user allows them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from ...brokers import probe
from ...brokers.deployment import TargetError
from ...brokers.forms import form_of, host_and_port
from ...reports.choices import InputError


@dataclass(frozen=True)
class Allowed:
    """The limits of a server.

    - `root`: the start folder. `session`: the server's temporary folder, where `check` keeps counterexamples.
    - `execute`: models and programs, which are Python, and targets that start other programs are allowed.
    - `beyond`: brokers on other machines are allowed.
    """

    root: Path
    session: Path
    execute: bool = False
    beyond: bool = False

    def file(self, text: str) -> str:
        """Return the path of an existing file inside the start folder. Raises InputError for any other, also behind a symbolic link."""
        try:
            path = (self.root / text).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise InputError(f"{text!r} is no file in the start folder; give the path of one, relative to that folder") from None
        if not path.is_relative_to(self.root.resolve()):
            raise InputError(f"{text!r} is outside the start folder; only files inside are read")
        if not path.is_file():
            raise InputError(f"{text!r} is no file; give one inside the start folder")
        return str(path)

    def python(self, text: str) -> str:
        """Return the path of a file that is executed, with the `::NAME` behind it. Raises InputError unless that is allowed."""
        path, mark, name = text.partition("::")
        found = self.file(path)
        if not self.execute:
            raise InputError(f"{path!r} is Python, which runs with the user's rights; the user allows it with `rocketproof mcp --execute`")
        return f"{found}{mark}{name}"

    def witness(self, text: str) -> str:
        """Return the path of a witness: one that `check` has kept, or a file in the start folder."""
        kept = self.session / text
        if "/" not in text and "\\" not in text and text not in ("", ".", "..") and kept.is_file() and not kept.is_symlink():
            return str(kept)
        return self.file(text)

    def target(self, text: str) -> str:
        """Return a target that may be used. Raises InputError for others, with the option that allows them."""
        form = form_of(text)
        if form is None:
            raise InputError(f"{text!r} is no target; give inprocess, served, or an address such as 127.0.0.1:10911")
        if form.kind in ("inprocess", "served"):
            return text
        if form.kind == "address":
            self._address(text)
            try:
                brokers = probe.cluster(text)
            except TargetError:
                return text  # a broker, or no server: the tool reports it
            for address in brokers.values():
                self._address(address)
            return text
        if not self.execute:
            raise InputError(f"{text!r} starts other programs; the user allows that with `rocketproof mcp --execute`")
        return self.file(text) if form.kind == "file" and text.endswith(".toml") else text

    def _address(self, text: str) -> None:
        host, _ = host_and_port(text)
        try:
            local = host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
        except ValueError:
            local = False
        if not local and not self.beyond:
            raise InputError(f"{text} is not on this machine; the user allows that with `rocketproof mcp --beyond-this-machine`")
