"""Terms from text: the output of `show` can be read again, common notations are accepted, and other text is refused in one line."""

import random
import re
from collections.abc import Iterator

import pytest
from generated_models import Case, generated, models

from nonempty import nonempty
from proportion import few
from rocketproof_model import EvaluationError, Expr, Model
from rocketproof_model.interpreter import Environment, evaluate
from rocketproof_model.language import Bool, Enum, Int, Maybe, Record, SetOf, Type, show, walk
from rocketproof_model.language.reading import LONGEST, ReadingError, read
from rocketproof_spec import NAMES, part


def pieces(model: Model) -> Iterator[tuple[Expr, dict[str, Type]]]:
    for action in model.actions:
        for term in (*(g.condition for g in action.guards), *(u.value for u in action.updates)):
            yield term, action.parameters
    for claim in model.properties:
        yield claim.formula, {}


def same_value(model: Model, one: Expr, other: Expr, parameters: dict[str, Type], seed: int) -> None:
    """Assert that the read term has the same value where there is one: `get` and Maybe look equal in text and differ for None only."""
    rng = random.Random(seed)

    def any_state() -> tuple[int, ...]:
        return tuple(rng.randint(v.type.lo, v.type.hi) for v in model.variables for _ in v.elements())

    constants = {name: rng.randint(t.lo, t.hi) for name, (t, _) in model.constants.items()}
    for _ in range(3):
        args = {name: rng.randint(t.lo, t.hi) for name, t in parameters.items()}
        scope = Environment(any_state(), args, constants, any_state())
        try:
            expected = evaluate(one, scope)
        except EvaluationError:
            continue
        assert evaluate(other, scope) == expected, show(one)


@pytest.mark.parametrize("name", few((n for n in NAMES if n not in ("medium", "large", "three", "topics")), 12))
def test_shown_terms_of_the_specification_can_be_read_again(name: str) -> None:
    model = part(name).model
    for number, (term, parameters) in nonempty(enumerate(dict(pieces(model)).items())):
        found = read(show(term), model, parameters, term.type)
        assert show(found) == show(term)
        same_value(model, term, found, parameters, number)


def test_shown_terms_of_generated_models_can_be_read_again() -> None:
    refused, everything = [], []

    @generated(7, 40, models())
    def run(case: Case) -> None:
        model = case.model
        for number, (term, parameters) in enumerate(pieces(model)):
            everything.append(term)
            try:
                found = read(show(term), model, parameters, term.type)
                again = read(show(found), model, parameters, term.type)
            except ReadingError as error:
                refused.append(str(error))
                continue
            assert show(again) == show(found)  # constants in it may have become one, so the text can lack a type
            same_value(model, term, found, parameters, number)

    run()
    # Text omits that a number is meant as a Maybe; if no neighbour shows it, the text is refused. Also refused: a
    # minimum as an element, whose text does not show how small it is; a condition that is a Bool in a Maybe; and a name of a
    # type that nothing in the model has.
    allowed = "is needed|has no type here|not a number|may be no element|nothing is called|is no value by itself|is not a value of Bool"
    assert all(re.search(allowed, error) for error in refused), refused
    assert 20 * len(refused) < len(everything)


def shop() -> Model:
    m = Model("shop")
    Clerk, Item = m.index("Clerk", 2), m.index("Item", 3)
    Row = Record(left=Int(0, 9), seen=Bool)
    m.var("shelf", Row, over=(Clerk, Item), init=lambda c, i: Row(left=1, seen=False))
    m.var("desk", Row, init=Row(left=1, seen=False))
    m.var("holding", Maybe(Item), over=Clerk, init=None)
    m.var("ever", SetOf(Item), init=())
    m.var("mood", Enum("calm", "not", '<busy> & "loud"', "desk", "well-fed"), init="calm")
    m.var("calm", Bool, init=True)
    m.constant("rush", Bool, False)

    @m.action(c=Clerk)
    def rest(a, c):
        """Somebody rests."""
        a.set(m.variables[-1][()], True)

    return m


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("shelf[0, 1].left & 2 == 2", "((shelf[0, 1].left & 2) == 2)"),
        ("shelf.left[0, 1] > 1", "(1 < shelf[0, 1].left)"),
        ("all(shelf[c, 0].seen for c in Clerk)", "(shelf[0, 0].seen & shelf[1, 0].seen)"),
        ("forall(Clerk, lambda c: shelf[c, 0].seen)", "(shelf[0, 0].seen & shelf[1, 0].seen)"),
        ("any(shelf[c, i].seen for c in Clerk if c != 0 for i in Item if i < 1)", "shelf[1, 0].seen"),
        ("count(shelf[c, 0].seen for c in Clerk)", "((1 if shelf[0, 0].seen else 0) + (1 if shelf[1, 0].seen else 0))"),
        ("sum(shelf[c, 0].left for c in Clerk)", "(shelf[0, 0].left + shelf[1, 0].left)"),
        ("mood == 'not' and not rush", "((mood == not) & ~rush)"),
        ("mood == not", "(mood == not)"),
        ('mood == <busy> & "loud"', '(mood == <busy> & "loud")'),
        ("mood == well-fed", "(mood == well-fed)"),
        ("mood == desk", "(mood == desk)"),
        ("desk.left", "desk.left"),
        ("mood == calm & calm", None),
        ("(mood == calm) & calm", "((mood == calm) & calm)"),
        ("mood in {calm, desk}", "((mood == calm) | (mood == desk))"),
        ("ever == {0, 2} or ever == {}", "((ever == {0, 2}) | (ever == {}))"),
        ("1 in ever", "(1 in ever)"),
        ("ever.has(holding[0])", "(holding[0] in ever)"),
        ("ever - {1} == {}", "((ever &~ {1}) == {})"),
        ("holding[0].is_none", "(holding[0] == None)"),
        ("holding[0] == 2", "(holding[0] == 2)"),
        ("shelf[0, holding[0]].left", "shelf[0, holding[0]].left"),
        ("1 < desk.left <= 3", "((1 < desk.left) & (desk.left <= 3))"),
        ("desk.left' == desk.left + 1", "(desk.left' == (desk.left + 1))"),
        ("after(desk) == desk", "((desk.left' == desk.left) & (desk.seen' == desk.seen))"),
        ("minimum(desk.left, 3) % 2", "((desk.left if (desk.left < 3) else 3) % 2)"),
        ("calm if rush else ~calm", "(calm if rush else ~calm)"),
        ("mood == (calm if rush else desk)", "(mood == (calm if rush else desk))"),
        ("-desk.left + 2 * 3 - -1", "(((0 - desk.left) + 6) - -1)"),
    ],
)
def test_common_notations_are_read(text: str, shown: str | None) -> None:
    if shown is None:
        with pytest.raises(ReadingError):
            read(text, shop())
    else:
        squeezed = lambda t: "".join(t.replace("shelf.left[0, ", "shelf[0, ").split())  # noqa: E731
        assert squeezed(plain(show(read(text, shop())))) == squeezed(shown)


def plain(text: str) -> str:
    """Write the column of a table after its element, as a person does."""
    return re.sub(r"(\w+)\.(\w+)(\[[^\]]*\](?:\])?)", r"\1\3.\2", text)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("mood == calm & shelff[0, 1].left", 16, "nothing is called 'shelff'; did you mean shelf?"),
        ("shelf[0].left", 1, "shelf is indexed by 1 values; write shelf[Clerk, Item]"),
        ("desk.left + shelf[0, 9].left", 22, "9 is not a value of Item"),
        ("desk.lift == 1", 1, "no field lift; the fields are left, seen"),
        ("  mood == 'clam'", 11, "'clam' is not a value of Enum("),
        ("mood == well-fedd", 9, "nothing is called 'well'"),
        ("shelf", 1, "name a field, or an element"),
        ("calm + 1", 1, "is Bool, not a number"),
        ("well-fed == 1", 1, "has no type here"),
        ("'calm'", 1, "alone has no type"),
        ("'a' == 'b'", 1, "has no type here"),
        ("1 +", 4, "invalid syntax"),
        ("(1", 1, "never closed"),
        ("2 ** 8", 1, "this operator has no meaning here"),
        ("__import__('os').system('x')", 1, "is no function of the language"),
        ("calm.__class__", 1, "has no field '__class__'"),
        ("(lambda: 1)()", 1, "is no function of the language"),
        ("[c for c in Clerk]", 1, "has no meaning here"),
        ("all(calm for c in mood)", 19, "mood is no index; the indices are Clerk, Item"),
        ("all(calm)", 1, "needs elements"),
        ("minimum(1)", 1, "does not take 1 arguments"),
        ("1.5 == 1", 1, "1.5 is no value of a model"),
        ("calm\x00", 6, "null bytes"),
        ("", 1, "there is no text"),
        ("(" * 300 + "1" + ")" * 300, 201, "too many nested parentheses"),
        ("1" * 5000, 5001, "digits"),
        ("~" * 5000 + "calm", 1, "nested too deeply"),
        ("x" * (LONGEST + 1), LONGEST, "at most 10,000"),
        ("all(" * 20 + "calm" + " for c in Item)" * 20, 81, "unfold into too many parts"),
    ],
)
def test_other_text_is_refused_in_one_line(text: str, column: int, says: str) -> None:
    with pytest.raises(ReadingError) as caught:
        read(text, shop())
    said = str(caught.value)
    assert says in said
    assert "\n" not in said
    assert caught.value.column == column, said


def test_parameters_have_their_names() -> None:
    model = shop()
    (action,) = model.actions
    assert plain(show(read("shelf[c, 0].seen", model, action.parameters))) == "shelf[c, 0].seen"
    assert {e.op for e in walk(read("c == 1", model, action.parameters))} == {"par", "const", "eq"}
    with pytest.raises(ReadingError, match="nothing is called 'c'"):
        read("shelf[c, 0].seen", model)
