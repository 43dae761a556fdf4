"""The suite's page lists the rules without an item, as the suite does, and none is missing."""

from __future__ import annotations

from session import ROOT

from rocketproof_properties.catalogue.rules import rules
from rocketproof_properties.catalogue.table import CLAIMS, HISTORY_CLAIMS
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.validation.entries import entries
from rocketproof_properties.validation.suite.unseen import table, unseen

PAGE = ROOT / "properties" / "docs" / "suite-gaps.md"


def test_page_lists_rules_without_an_item() -> None:
    text = PAGE.read_text("utf-8")
    rows = "\n".join(table("P494"))
    assert rows in text, f"write this into the page:\n{rows}"


def test_each_rule_and_property_has_an_item_or_a_reason() -> None:
    seen = {one.id.partition("[")[0].partition(".")[0] for one in entries("P494", frozenset(Capability))}
    without = [id_ for ids in unseen("P494").values() for id_ in ids]
    everything = {*rules(), *(claim.id.partition(".")[0] for claim in (*CLAIMS, *HISTORY_CLAIMS))}
    assert len(without) == len(set(without)) and not seen & set(without)
    assert everything <= seen | set(without)
