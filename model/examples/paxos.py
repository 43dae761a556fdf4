"""Paxos for one value, after Lamport's TLA+ module of that name: acceptors vote in ballots, and never choose two values."""

from collections.abc import Callable

from rocketproof_model import Body, Expr, Int, Maybe, Model, SetOf, count, exists, forall, implies

SCOPES = {"two": {"ballots": 2}, "three": {"ballots": 3}}


def model(acceptors: int = 3, ballots: int = 2, values: int = 2) -> Model:
    m = Model("Paxos")
    Acceptor, Value, Ballot = m.index("Acceptor", acceptors), m.index("Value", values), Int(0, ballots - 1)
    promised = m.var("promised", Maybe(Ballot), over=Acceptor, init=None)
    vote = m.var("vote", Maybe(Ballot), over=Acceptor, init=None)
    voted = m.var("voted", Maybe(Value), over=Acceptor, init=None)
    asked = m.var("asked", SetOf(Ballot), init=())
    promises = m.var("promises", SetOf((Acceptor, Ballot, Maybe(Ballot), Maybe(Value))), init=())
    proposals = m.var("proposals", SetOf((Ballot, Value)), init=())
    votes = m.var("votes", SetOf((Acceptor, Ballot, Value)), init=())

    @m.action(b=Ballot)
    def phase_1a(a: Body, b: Expr) -> None:
        """A leader asks for promises in a ballot."""
        a.add(asked, b)

    @m.action(s=Acceptor, b=asked)
    def phase_1b(a: Body, s: Expr, b: Expr) -> None:
        """An acceptor promises to ignore lower ballots, and tells its last vote."""
        a.guard("higher", promised[s].is_none | (promised[s].get < b), "it has promised lower ballots only")
        a.set(promised[s], b)
        a.add(promises, (s, b, vote[s], voted[s]))

    @m.action(b=Ballot, v=Value)
    def phase_2a(a: Body, b: Expr, v: Expr) -> None:
        """A leader proposes a value that the promises of a quorum allow: that of the highest vote among them, if there is one."""

        def told(q: Expr, what: Callable[[Expr, Expr, Expr], Expr]) -> Expr:
            return exists(promises, lambda s, ballot, last, w: q.has(s) & (ballot == b) & what(s, last, w))

        def allows(q: Expr) -> Expr:
            promise = forall(Acceptor, lambda s: implies(q.has(s), told(q, lambda who, _, w: who == s)))
            highest = exists(Ballot, lambda h: told(q, lambda _, last, w: (last == h) & (w == v))
                             & ~told(q, lambda _, last, w: last.is_some & (last.get > h)))  # fmt: skip
            return promise & (highest | ~told(q, lambda _, last, w: last.is_some))

        a.guard("first", ~exists(Value, lambda w: proposals.has((b, w))), "nothing is proposed in this ballot")
        a.guard("allowed", exists(SetOf(Acceptor), lambda q: (2 * count(q, lambda s: True) > acceptors) & allows(q)), "a quorum allows it")
        a.add(proposals, (b, v))

    @m.action(s=Acceptor, p=proposals)
    def phase_2b(a: Body, s: Expr, p: tuple[Expr, Expr]) -> None:
        """An acceptor votes for a proposal, unless it has promised a higher ballot."""
        a.guard("kept", promised[s].is_none | (promised[s].get <= p[0]), "it has promised no higher ballot")
        a.set(promised[s], p[0])
        a.set(vote[s], p[0])
        a.set(voted[s], p[1])
        a.add(votes, (s, *p))

    def chosen(v: Expr | int) -> Expr:
        return exists(Ballot, lambda b: 2 * count(Acceptor, lambda s: votes.has((s, b, v))) > acceptors)

    m.always("agreement", forall((Value, Value), lambda v, w: implies(chosen(v) & chosen(w), v == w)), "no two values are chosen")
    m.reachable("choice", chosen(0), "a value can be chosen")
    return m
