"""Packing loses nothing, whatever the width of a word, and the lanes of an index have a constant distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nonempty import nonempty
from rocketproof_model import Bool, Enum, Int, Model, ModelError, SetOf
from rocketproof_model.explicit.layout import layout


def _mixed() -> Model:
    m = Model("mixed")
    node, slot = m.index("Node", 3), m.index("Slot", 4)
    m.var("flag", Bool, over=node, init=False)
    m.var("low", Int(-3, 4), over=(node, slot), init=0)
    m.var("fixed", Int(7, 7), init=7)
    m.var("set", SetOf(slot), over=node, init=())
    m.var("mode", Enum("a", "b", "c"), init="a")
    return m


@given(word_bits=st.sampled_from([8, 11, 16, 63]), draw=st.data())
def test_unpacking_inverts_packing(word_bits: int, draw: st.DataObject) -> None:
    model = _mixed()
    places = layout(model, word_bits)
    state = tuple(draw.draw(st.sampled_from(v.type.codes())) for v in model.variables for _ in v.elements())
    packed = places.pack(state)
    assert places.unpack(packed) == state
    assert packed.shape == (places.words,)
    assert (packed >= 0).all(), "bit 63 of a word must stay free"
    assert packed[0] != 0, "a packed state must differ from an empty slot"


@pytest.mark.parametrize("word_bits", [8, 16, 63])
def test_fields_do_not_overlap(word_bits: int) -> None:
    places = layout(_mixed(), word_bits)
    taken = np.zeros(places.words, dtype=np.int64)
    taken[0] = 1 << places.present
    for word, shift, mask in nonempty(zip(places.slot_word, places.slot_shift, places.slot_mask, strict=True)):
        assert taken[word] & mask << shift == 0, f"a field at bit {shift} of word {word} overlaps another"
        taken[word] |= mask << shift


def test_unpacking_many_equals_unpacking_each() -> None:
    model = _mixed()
    places = layout(model, 11)
    rng = np.random.default_rng(4)
    codes = np.array([[rng.integers(v.type.lo, v.type.hi + 1) for v in model.variables for _ in v.elements()] for _ in range(50)])
    packed = places.pack_many(codes)
    assert (places.unpack_many(packed) == codes).all()
    assert places.unpack(packed[7]) == tuple(codes[7])


def test_variables_over_one_index_share_lanes() -> None:
    model = _mixed()
    places = layout(model)
    flag, low, set_ = (places.fields[model.variable(name)] for name in ("flag", "low", "set"))
    assert flag.lane == low.lane == set_.lane == 1 + 4 * 3 + 4
    assert flag.word == low.word == set_.word


def test_a_variable_too_wide_for_a_word_is_refused() -> None:
    m = Model("wide")
    m.var("x", Int(-(2**62), 2**62), init=0)
    with pytest.raises(ModelError, match=r"test_layout\.py:\d+:\d+: x of .* takes 64 bits.*choose smaller bounds"):
        layout(m)


def test_a_model_without_variables_has_one_word() -> None:
    places = layout(Model("empty"))
    assert places.words == 1
    assert places.unpack(places.pack(())) == ()
