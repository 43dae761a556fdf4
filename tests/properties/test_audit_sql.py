"""The audit beside plain SQL over the same columns: each rule about records finds the same ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from audit_by_sql import QUERIES, load, offsets
from damaged_stores import DAMAGES, Damaged, made

from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_traces.audit.programs import Plan
from rocketproof_traces.audit.run import Kept, audit
from rocketproof_traces.pools import on_processes

PLAN = Plan(stored_rules, tuple(settings("P494").items()), limit=1 << 30)


@pytest.mark.parametrize("seed", [11, 12])
def test_sql_finds_the_same_records(seed: int, tmp_path: Path) -> None:

    root, records = made(tmp_path / "store")
    store = Damaged(root, records, random.Random(seed))
    for damage in DAMAGES:
        if not damage.whole:
            damage.do(store)
    (totals,) = audit(PLAN, [str(root)], on_processes(1), Kept(None, PLAN), lambda done, all_: None).totals
    ours = {id_: sorted(found.offset for found in totals.findings if found.property == id_) for id_ in QUERIES}
    assert ours == offsets(load(root))
    assert sum(map(bool, ours.values())) >= 20
