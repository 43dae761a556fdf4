"""Raft's election of a leader: servers vote once a term, and messages may be lost, doubled and late: all that was sent stays in flight."""

from rocketproof_model import Body, Enum, Expr, Int, Maybe, Model, SetOf, count, exists, forall, implies, single

SCOPES = {"three": {"servers": 3, "terms": 2}, "more terms": {"servers": 3, "terms": 3}}


def model(servers: int = 3, terms: int = 2) -> Model:
    m = Model("Raft election")
    Server, Term = m.index("Server", servers), Int(1, terms)
    term = m.var("term", Term, over=Server, init=1)
    role = m.var("role", Enum("follower", "candidate", "leader"), over=Server, init="follower")
    voted = m.var("voted", Maybe(Server), over=Server, init=None)
    granted = m.var("granted", SetOf(Server), over=Server, init=())
    requests = m.var("requests", SetOf((Server, Term)), init=())
    votes = m.var("votes", SetOf((Server, Server, Term)), init=(), sentence="from whom, to whom, in which term")

    @m.action(s=Server)
    def timeout(a: Body, s: Expr) -> None:
        """A server that hears of no leader becomes a candidate of the next term, votes for itself and asks the others."""
        a.guard("no leader", role[s] != "leader", "the server is no leader")
        a.bound("terms left", term[s] < terms, "the run allows another term")
        a.set(term[s], term[s] + 1)
        a.set(role[s], "candidate")
        a.set(voted[s], s)
        a.set(granted[s], single(s))
        a.add(requests, (s, term[s] + 1))

    @m.action(s=Server, t=Term)
    def update(a: Body, s: Expr, t: Expr) -> None:
        """A server learns of a higher term, and follows."""
        a.guard("higher", t > term[s], "the term is higher than its own")
        a.guard("seen", exists(requests, lambda c, u: u == t) | exists(votes, lambda v, c, u: u == t), "a message has the term")
        a.set(term[s], t)
        a.set(role[s], "follower")
        a.set(voted[s], None)

    @m.action(s=Server, r=requests)
    def grant(a: Body, s: Expr, r: tuple[Expr, Expr]) -> None:
        """A server votes for a candidate of its term, if it has voted for nobody else."""
        a.guard("same term", r[1] == term[s], "the request is of its term")
        a.guard("free", voted[s].is_none | (voted[s] == r[0]), "it has voted for nobody else")
        a.set(voted[s], r[0])
        a.add(votes, (s, *r))

    @m.action(s=Server, v=votes)
    def count_vote(a: Body, s: Expr, v: tuple[Expr, Expr, Expr]) -> None:
        """A candidate counts a vote of its term."""
        a.guard("for it", (v[1] == s) & (v[2] == term[s]) & (role[s] == "candidate"), "the vote is for it, in its term")
        a.add(granted[s], v[0])

    @m.action(s=Server)
    def win(a: Body, s: Expr) -> None:
        """A candidate that most servers have voted for leads."""
        a.guard("candidate", role[s] == "candidate", "the server is a candidate")
        a.guard("quorum", 2 * count(granted[s], lambda _: True) > servers, "most servers have voted for it")
        a.set(role[s], "leader")

    def leads(s: Expr, t: Expr) -> Expr:
        return (role[s] == "leader") & (term[s] == t)

    m.always(
        "one leader", forall((Server, Server, Term), lambda s, o, t: implies(leads(s, t) & leads(o, t), s == o)), "a term has one leader"
    )
    m.reachable("leader", exists(Server, lambda s: role[s] == "leader"), "a leader can be elected")
    return m
