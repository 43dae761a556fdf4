"""Deciding what is undecided never contradicts a combined outcome: `any_of`, `all_of` and `decisive` on random trees."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketproof_traces.common.outcomes import JudgingOutcome, all_of, any_of, decisive

EXPLAINED, REFUSED, UNDECIDED = JudgingOutcome
COMBINED = {"any": any_of, "all": all_of}
Tree = JudgingOutcome | tuple[str, list["Tree"]]
LEAF = st.sampled_from(JudgingOutcome)
TREES: st.SearchStrategy[Tree] = st.recursive(LEAF, lambda inner: st.tuples(st.sampled_from(list(COMBINED)), st.lists(inner, max_size=4)))


def value(tree: Tree) -> JudgingOutcome:
    return tree if isinstance(tree, JudgingOutcome) else COMBINED[tree[0]](map(value, tree[1]))


def decided(tree: Tree, outcomes: Sequence[JudgingOutcome], used: list[None]) -> Tree:
    """The tree with each undecided leaf replaced by the next outcome, repeating the last outcome."""
    if isinstance(tree, tuple):
        return tree[0], [decided(inner, outcomes, used) for inner in tree[1]]
    if tree is not UNDECIDED:
        return tree
    used.append(None)
    return outcomes[min(len(used), len(outcomes)) - 1]


@given(TREES, st.lists(st.sampled_from([EXPLAINED, REFUSED]), min_size=1))
def test_deciding_undecided_leaves_never_contradicts(tree: Tree, outcomes: list[JudgingOutcome]) -> None:
    whole = value(decided(tree, outcomes, []))
    assert whole is not UNDECIDED
    assert value(tree) in (whole, UNDECIDED)


@given(TREES)
def test_tree_is_undecided_only_if_its_leaves_matter(tree: Tree) -> None:
    best, worst = (value(decided(tree, [outcome], [])) for outcome in (EXPLAINED, REFUSED))
    assert (value(tree) is UNDECIDED) is (best is not worst)


@given(st.lists(st.tuples(LEAF, st.integers(0, 3)), min_size=1))
def test_decisive_alternative_has_combined_outcome_and_most_progress(tried: list[tuple[JudgingOutcome, int]]) -> None:
    outcome, progress = chosen = decisive(iter(tried), outcome=lambda pair: pair[0], progress=lambda pair: pair[1])
    assert chosen in tried and outcome is any_of(kind for kind, _ in tried)
    if outcome is not EXPLAINED:
        assert progress == max(more for kind, more in tried if kind is outcome)


def test_no_alternative_is_tried_after_explained() -> None:
    rest = iter([REFUSED, EXPLAINED, UNDECIDED])
    assert decisive(rest, outcome=lambda item: item, progress=lambda _: 0) is EXPLAINED
    assert list(rest) == [UNDECIDED]


def test_no_alternative_is_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        decisive([], outcome=lambda item: item, progress=lambda _: 0)
