"""Dijkstra's self-stabilising ring (EWD 426): from any counters, one token goes round in the end, and stays the only one."""

from rocketproof_model import ANY, Body, Expr, Int, Model, after, count, ite

SCOPES = {"four": {"nodes": 4, "values": 4}, "six": {"nodes": 6, "values": 6}}


def model(nodes: int = 4, values: int = 4) -> Model:
    m = Model("Dijkstra's ring")
    Node = m.index("Node", nodes)
    c = m.var("c", Int(0, values - 1), over=Node, init=ANY)

    @m.action(fair="weak")
    def create(a: Body) -> None:
        """The first node passes the token on by counting."""
        a.guard("token", c[0] == c[nodes - 1], "the first node has the token")
        a.set(c[0], ite(c[nodes - 1] == values - 1, 0, c[nodes - 1] + 1))

    @m.action(i=Int(1, nodes - 1), fair="weak")
    def move(a: Body, i: Expr) -> None:
        """Another node passes the token on by taking its neighbour's counter."""
        a.guard("token", c[i] != c[i - 1], "the node has the token")
        a.set(c[i], c[i - 1])

    tokens = count(Int(1, nodes - 1), lambda i: c[i] != c[i - 1]) + ite(c[0] == c[nodes - 1], 1, 0)
    m.always("some token", tokens > 0, "some node can always move")
    m.step("never more", after(tokens) <= tokens, "tokens are never added")
    m.eventually("stable", tokens == 1, "there is one token in the end")
    return m
