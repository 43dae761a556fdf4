"""Peterson's algorithm: two processes exclude each other with a flag each and a turn."""

from typing import Literal

from rocketproof_model import Body, Enum, Expr, Model


def model() -> Model:
    m = Model("Peterson")
    Process = m.index("Process", 2)
    at = m.var("at", Enum("idle", "asking", "waiting", "critical"), over=Process, init="idle")
    turn = m.var("turn", Process, init=0)

    def step(name: str, before: str, then: str, fair: Literal["weak"] | None = None) -> None:
        def act(a: Body, p: Expr) -> None:
            a.guard(before, at[p] == before, f"the process is {before}")
            if name == "yield":
                a.set(turn, 1 - p)
            if name == "enter":
                a.guard("alone or first", (at[1 - p] == "idle") | (turn == p), "the other one does not ask, or waits its turn")
            a.set(at[p], then)

        act.__doc__ = f"A process goes from {before} to {then}."
        m.action(name=name, p=Process, fair=fair)(act)

    step("ask", "idle", "asking")
    step("yield", "asking", "waiting", "weak")
    step("enter", "waiting", "critical", "weak")
    step("leave", "critical", "idle", "weak")
    m.always("exclusion", (at[0] != "critical") | (at[1] != "critical"), "at most one process is critical")
    m.leads_to("progress", at[0] == "asking", at[0] == "critical", "who asks is let in")
    return m
