"""The question that `show` proposes to ask of a witness."""

from collections.abc import Callable

from rocketproof_model import Bool, Int, Model
from rocketproof_model.result import Witness
from rocketproof_traces.witness import explain
from rocketproof_traces.witness.question import Question, question


def posts() -> Model:
    """Two boxes get letters; a sender that has seen an empty box never puts a letter there again."""
    m = Model("posts")
    Box = m.index("Box", ["red", "blue"])
    given_up = m.var("given_up", Bool, over=Box, init=False)
    full = m.var("full", Bool, over=Box, init=False)
    day = m.var("day", Int(0, 1), init=0)

    @m.action(b=Box)
    def put(a, b):
        """A letter is put into a box."""
        a.guard("still tried", ~given_up[b], "nobody has given the box up")
        a.set(full[b], True)

    @m.action(b=Box)
    def give_up(a, b):
        """The box is given up."""
        a.set(given_up[b], True)

    @m.action(fair="weak")
    def sleep(a):
        """A day goes by."""
        a.set(day, 1 - day)

    m.leads_to("both", full[0], full[0] & full[1], "once a box has a letter the other one gets one too")
    m.always("one", ~(full[0] & full[1]), "only one box is full")
    return m


def test_loop_question_concerns_missing_and_impossible_event(walked: Callable[..., Witness]) -> None:
    witness = walked(posts(), "both", "put(b=red)", "give_up(b=blue)", "sleep()", "sleep()", loop=2)
    assert question(witness) == Question(3, "put(b=blue)")
    asked = explain.explain(witness, 3, "put(b=blue)").asked
    assert asked is not None and asked.refusal is not None and asked.refusal.guard == "still tried"


def test_loop_where_everything_is_possible_has_no_question(walked: Callable[..., Witness]) -> None:
    assert question(walked(posts(), "both", "put(b=red)", "sleep()", "sleep()", loop=1)) == Question(2)


def test_path_question_concerns_failing_step(walked: Callable[..., Witness], skew: Witness, loud: Witness) -> None:
    assert question(walked(posts(), "one", "put(b=red)", "sleep()", "put(b=blue)", "sleep()")) == Question(3)
    assert question(skew) == Question(len(skew.moves))
    assert question(loud) == Question(2)


def test_question_concerns_closest_sibling_that_keeps_property(walked: Callable[..., Witness]) -> None:
    m = Model("till")
    sum_ = m.var("sum", Int(0, 2), init=0)
    asked = m.var("asked", Bool, init=False)

    @m.action()
    def ask(a):
        """Somebody asks."""
        a.set(asked, True)

    @m.action()
    def take(a):
        """Money is taken."""
        a.guard("asked", asked, "somebody has asked")
        a.set(sum_, 2)

    @m.action()
    def refuse(a):
        """Nothing is given."""
        a.guard("asked", asked, "somebody has asked")
        a.guard("empty", sum_ > 0, "there is nothing")
        a.set(asked, False)

    @m.action()
    def close(a):
        """The till is closed."""
        a.guard("full", sum_ > 1, "it is full")
        a.set(asked, False)

    m.always("low", sum_ < 2, "the till is never full")
    assert question(walked(m, "low", "ask()", "take()")) == Question(2, "refuse()")


def test_witness_without_steps_has_no_question(loud: Witness) -> None:
    assert question(Witness(loud.instance, loud.property, (), ())) is None
