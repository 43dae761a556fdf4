"""The command `promises`: prints the promises, and the releases that break them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

SCHEMA = Path(__file__).parents[2] / "properties" / "docs" / "schemas" / "promises.schema.json"


def test_the_command_shows_each_violation_and_its_program(rocketproof: Callable[..., Any], tmp_path: Path) -> None:
    done = rocketproof("promises", "PRO-32", "--json", str(tmp_path / "promises.json"))
    assert done.code == 0
    assert "broken in 4.0 to 5.5" in done.out
    assert "program  4.3 to 5.5" in done.out
    rows = json.loads((tmp_path / "promises.json").read_text("utf-8"))
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.validate(rows, schema)
    assert [row["id"] for row in rows] == ["PRO-32"]


def test_the_command_selects_by_profile(rocketproof: Callable[..., Any]) -> None:
    early, late = (rocketproof("promises", "--broken", "--profile", release).out for release in ("4.1", "5.5"))
    assert "PRO-21" in early
    assert "PRO-21" not in late
    assert "PRO-33" in late


def test_list_finds_a_promise_by_words(rocketproof: Callable[..., Any]) -> None:
    out = rocketproof("list", "promises", "predecessor").out
    assert "PRO-32" in out
    assert "PRO-33" not in out


def test_an_unknown_promise_is_an_error_with_the_nearest(rocketproof: Callable[..., Any]) -> None:
    done = rocketproof("promises", "PRO-199")
    assert done.code == 2
    assert "PRO-" in done.err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--target", "apache:4.9.4"), "--target belongs to --durability"),
        (("--markdown", "x.md"), "--markdown belongs to --durability"),
        (("PRO-32", "--durability"), "PRO-32 does not belong to --durability"),
        (("--durability", "--json", "x.json"), "--json does not belong to --durability"),
        (("--durability", "--target", "apache:nothing"), "nothing"),
    ],
)
def test_options_of_the_table_are_checked(rocketproof: Callable[..., Any], options: tuple[str, ...], text: str) -> None:
    done = rocketproof("promises", *options)
    assert done.code == 2
    assert text in " ".join(done.err.split())
    assert "Traceback" not in done.err
