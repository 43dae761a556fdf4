"""Generated models in which fairness decides: actions that are enabled intermittently, and claims about their effects.

One action advances a round number, and others change it sometimes. The fair actions take effect in a single round or outside the rounds,
and their effect can be undone. On an endless path a fair action is therefore enabled repeatedly, continuously, or never, and weak and
strong fairness often differ.
"""

from __future__ import annotations

from typing import Any

from generated_models import Case, Maker
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rocketproof_model import Bool, Expr, Int, Model, ite
from rocketproof_model.language import Body

_FAIR = ("weak", "strong", "weak", None)


class _Fair(Maker):
    """The base with few variables besides the round and the effect."""

    def declare(self, model: Model) -> None:
        for name, size in zip("AB", (2, 3), strict=True):
            self.indices.append(self.index(model, name, size))
        self.round = model.var("round", Int(0, self.pick((1, 2, 3))), init=0)
        self.done = model.var("done", Bool, init=False)
        self.variables += model.variables
        for k in range(self.pick((1, 0, 2))):
            self.variable(model, f"v{k}", {"": self.type_()}, ())
        self.last = self.round.type.hi

    def place(self) -> Expr:
        """Return where a fair action is enabled: in a round, outside a round, or where some formula holds."""
        at = self.draw(st.integers(0, self.last))
        return self.pick((self.round == at, self.round != at, self.round == at, self.atom()))

    def tick(self, model: Model) -> None:
        def fill(a: Body) -> None:
            """The round advances."""
            if self.often(1, 4):
                a.guard("g", self.atom(), "the condition holds")
            a.set(self.round, ite(self.round == self.last, 0, self.round + 1))

        model.action(name="tick", fair=self.pick(("strong", "weak", None)))(fill)

    def act(self, model: Model, name: str) -> None:
        def fill(a: Body) -> None:
            """The claimed effect happens, or is undone."""
            a.guard("place", self.place(), "it is its turn")
            if self.often(2, 3):
                a.guard("undone", ~self.done, "it has not been done")
            a.set(self.done, self.pick((True, True, ~self.done, self.boolean(1))))
            if self.often(1, 4):
                a.set(self.round, self.draw(st.integers(0, self.last)))
            elif len(self.variables) > 2 and self.often(1, 4):
                self.update(a, self.variables[-1])

        model.action(name=name, fair=self.pick(_FAIR))(fill)

    def claims(self, model: Model) -> None:
        super().claims(model)
        sentence = "claimed of every fair path"
        claim: Any = self.pick((model.eventually, model.eventually_always))
        claim("done", self.done, sentence)
        model.leads_to("again", self.pick((~self.done, self.round == self.last)), self.pick((self.done, ~self.done)), sentence)


@st.composite
def fair_models(draw: DrawFn) -> Case:
    """Generate models with few states and with fair actions that are not always enabled."""
    maker = _Fair(draw, faulty=False)
    model = Model("fair")
    maker.declare(model)
    maker.tick(model)
    for k in range(draw(st.integers(1, 3))):
        maker.act(model, f"act{k}")
    if maker.often(1, 5):
        maker.action(model, "beside")
    maker.claims(model)
    return Case(model.given())
