"""Sentences of steps: an action's own template, and the general sentence from its docstring."""

from __future__ import annotations

import pytest

from rocketproof_model import Bool, Instance, Int, Model, ModelError
from rocketproof_model.interpreter import initial
from rocketproof_model.language import Body, Expr
from rocketproof_traces.witness.parts import acting
from rocketproof_traces.witness.sentences import step_sentence


def model() -> Model:
    m = Model("sentences")
    broker, topic = m.index("Broker", ["broker-a", "broker-b"]), m.index("Topic", ["orders"])
    queues = m.var("queues", Int(0, 8), over=broker, init=4)
    on = m.var("on", Bool, init=False)

    @m.action(b=broker, t=topic)
    def create(a: Body, b: Expr, t: Expr) -> None:
        """The broker creates a topic."""
        a.by(b)
        a.says("{by} creates {t} with {queues:queue}, creation is {on:on|off}", queues=queues[b], on=on)

    @m.action(b=broker, t=topic)
    def delete(a: Body, b: Expr, t: Expr) -> None:
        """The broker deletes a topic, which 4.9 allows. Its queues stay."""
        a.by(b)

    @m.action(part="clock")
    def wait(a: Body) -> None:
        """Time passes."""

    return m


def said(action: str, *args: int, queues: int = 4) -> str:
    m = model()
    instance = Instance(m, {})
    state = tuple(queues if k < 2 else code for k, code in enumerate(initial(instance)))
    return step_sentence(instance, state, m.named(action), args, acting(instance, state, m.named(action), args))


def test_template_names_elements_and_counts() -> None:
    assert said("create", 1, 0) == "broker-b creates orders with 4 queues, creation is off"
    assert said("create", 0, 0, queues=1) == "broker-a creates orders with 1 queue, creation is off"


def test_general_sentence_replaces_nouns_by_elements() -> None:
    assert said("delete", 1, 0) == "broker-b deletes orders, which 4.9 allows"


def test_general_sentence_names_an_actor_it_does_not_mention() -> None:
    assert said("wait") == "clock: time passes"


def test_unknown_name_in_a_template_is_an_error() -> None:
    m = model()
    with pytest.raises(ModelError, match="names 'topik'"):

        @m.action()
        def wrong(a: Body) -> None:
            """Wrong."""
            a.says("creates {topik}")
