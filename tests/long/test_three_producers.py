"""Two brokers and three producers: only a search with symmetry is fast enough."""

from rocketproof_model.search import explore
from rocketproof_properties.catalogue.table import properties
from rocketproof_spec import build, constants


def test_three_producers_find_the_same_as_two() -> None:
    small, three = (build(name) for name in ("small", "three"))
    few, many = (explore(each.model.given(**constants("P49")), properties(each)) for each in (small, three))
    assert (many.states, many.represented(), many.depth) == (7223252, 86134708, 57)
    assert {o.property.id: o.verdict for o in many.outcomes} == {o.property.id: o.verdict for o in few.outcomes}
    skew = many.outcome("REA-10").witness
    assert skew is not None and len(skew) == 14
