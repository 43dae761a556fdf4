"""Incremental JSON of the files: always equal to a complete new serialization."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketproof_impl.pretty import PrettyTable, pretty

texts = st.text(max_size=3)
entries = st.fixed_dictionaries({"perm": st.integers(0, 7), "order": st.booleans(), "attributes": st.dictionaries(texts, texts)})
tables = st.dictionaries(texts, entries, max_size=4)


@given(st.lists(st.tuples(st.integers(), tables), max_size=4))
def test_incremental_text_equals_the_full_text(versions: list[tuple[int, dict[str, object]]]) -> None:
    file = PrettyTable("table")
    for counter, table in versions:
        data = {"dataVersion": {"counter": counter, "empty": {}}, "table": table}
        assert file.text(data) == pretty(data)


def test_value_that_is_no_table_is_written_unchanged() -> None:
    assert PrettyTable("table").text({"a": [1, {"b": None}]}) == pretty({"a": [1, {"b": None}]})
