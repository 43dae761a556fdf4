"""Two-phase commit: resource managers agree with a transaction manager to commit, or all abort.

The protocol of Gray and Lamport's "Consensus on Transaction Commit", whose TLA+ form has 288 states with three
resource managers and 296,448 with seven.
"""

from rocketproof_model import Body, Bool, Enum, Expr, Model, SetOf, after, exists, forall, implies, single

SCOPES = {"three": {"rms": 3}, "five": {"rms": 5}, "seven": {"rms": 7}}


def model(rms: int = 3) -> Model:
    m = Model("two-phase commit")
    RM = m.index("RM", rms)

    state = m.var("state", Enum("working", "prepared", "committed", "aborted"), over=RM, init="working")
    manager = m.var("manager", Enum("undecided", "committed", "aborted"), init="undecided")
    seen = m.var("seen", SetOf(RM), init=())
    says_prepared = m.var("says_prepared", SetOf(RM), init=())
    says_commit = m.var("says_commit", Bool, init=False)
    says_abort = m.var("says_abort", Bool, init=False)

    @m.action(r=RM)
    def prepare(a: Body, r: Expr) -> None:
        """A resource manager prepares and tells the transaction manager."""
        a.guard("working", state[r] == "working", "the resource manager is still working")
        a.set(state[r], "prepared")
        a.set(says_prepared, says_prepared | single(r))

    @m.action(r=RM)
    def give_up(a: Body, r: Expr) -> None:
        """A resource manager aborts of its own accord; its silence tells enough."""
        a.guard("working", state[r] == "working", "the resource manager is still working")
        a.set(state[r], "aborted")

    @m.action(r=RM)
    def hear_prepared(a: Body, r: Expr) -> None:
        """The transaction manager takes note of a prepared resource manager."""
        a.guard("undecided", manager == "undecided", "the transaction manager has not decided")
        a.guard("told", says_prepared.has(r), "the resource manager has said that it is prepared")
        a.set(seen, seen | single(r))

    @m.action()
    def commit(a: Body) -> None:
        """The transaction manager decides to commit."""
        a.guard("undecided", manager == "undecided", "the transaction manager has not decided")
        a.guard("all prepared", forall(RM, lambda r: seen.has(r)), "every resource manager is known to be prepared")
        a.set(manager, "committed")
        a.set(says_commit, True)

    @m.action(fair="weak")
    def abort(a: Body) -> None:
        """The transaction manager decides to abort, which it may at any time before it commits."""
        a.guard("undecided", manager == "undecided", "the transaction manager has not decided")
        a.set(manager, "aborted")
        a.set(says_abort, True)

    @m.action(r=RM, fair="weak")
    def hear_commit(a: Body, r: Expr) -> None:
        """A resource manager obeys the decision to commit."""
        a.guard("told", says_commit, "the transaction manager has said commit")
        a.set(state[r], "committed")

    @m.action(r=RM, fair="weak")
    def hear_abort(a: Body, r: Expr) -> None:
        """A resource manager obeys the decision to abort."""
        a.guard("told", says_abort, "the transaction manager has said abort")
        a.set(state[r], "aborted")

    def decided(r: Expr) -> Expr:
        return (state[r] == "committed") | (state[r] == "aborted")

    m.always("consistent", ~(exists(RM, lambda r: state[r] == "committed") & exists(RM, lambda r: state[r] == "aborted")),
             "no resource manager commits where another aborts")  # fmt: skip
    m.step("final", forall(RM, lambda r: implies(decided(r), state[r] == after(state[r]))), "a decision is never taken back")
    m.reachable("all commit", forall(RM, lambda r: state[r] == "committed"), "all resource managers can commit")
    m.reachable("all abort", forall(RM, lambda r: state[r] == "aborted"), "all resource managers can abort")
    m.leads_to("termination", exists(RM, lambda r: state[r] == "prepared"), forall(RM, decided),
               "once one resource manager is prepared, all decide")  # fmt: skip
    return m
