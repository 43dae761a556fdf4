"""The specification's page lists the rules that no action states, each with a reason."""

from __future__ import annotations

import re

from session import ROOT

from rocketproof_properties.catalogue.rules import ID, rules
from rocketproof_spec import NAMES, part

PAGE = ROOT / "model" / "docs" / "specification.md"


def test_the_rules_without_an_action_are_listed() -> None:
    carried = {id_ for scope in NAMES for action in part(scope).model.actions for id_ in action.rules}
    text = PAGE.read_text("utf-8")
    section = text.partition("## Rules that no action carries")[2].partition("\n## ")[0]
    listed = {id_ for row in re.findall(r"^\| ([A-Z].*?) \|", section, re.MULTILINE) for id_ in ID.findall(row)}
    missing = set(rules()) - carried
    assert listed == missing, f"not listed: {sorted(missing - listed)}; carried though listed: {sorted(listed - missing)}"
    count = f"{len(set(rules()) & carried)} of the {len(rules())}"
    assert count in section
    assert count in (ROOT / "README.md").read_text("utf-8")
