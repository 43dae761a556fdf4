"""Cache coherence (MSI): caches of one memory cell ask a bus for copies, and a cache that may write has the only copy.

With `careless` the bus lets a cache write while others still have copies, so they read old data.
"""

from rocketproof_model import Body, Enum, Expr, Int, Maybe, Model, forall, implies, ite

SCOPES = {"two": {"caches": 2}, "three": {"caches": 3}, "careless": {"caches": 2, "careless": True}}


def model(caches: int = 2, careless: bool = False) -> Model:
    m = Model("cache coherence")
    Cache = m.index("Cache", caches)
    state = m.var("state", Enum("invalid", "shared", "modified"), over=Cache, init="invalid", sentence="what the cache may do")
    copy = m.var("copy", Int(0, 1), over=Cache, init=0, sentence="the data in the cache")
    wanted = m.var("wanted", Enum("nothing", "to read", "to write"), over=Cache, init="nothing", sentence="what the cache asks the bus for")
    owner = m.var("owner", Maybe(Cache), init=None, sentence="the cache that may write", part="bus")
    data = m.var("data", Int(0, 1), init=0, sentence="the data in memory", part="memory")
    newest = m.var("newest", Int(0, 1), init=0, sentence="the data that was written last")

    def alone(c: Expr) -> Expr:
        return forall(Cache, lambda d: (d == c) | (state[d] == "invalid"))

    @m.action(sends_to="bus", c=Cache)
    def ask_to_read(a: Body, c: Expr) -> None:
        """A cache without a copy asks for one."""
        a.by(c)
        a.guard("no copy", (state[c] == "invalid") & (wanted[c] == "nothing"), "the cache has no copy and asks for none")
        a.set(wanted[c], "to read")

    @m.action(sends_to="bus", c=Cache)
    def ask_to_write(a: Body, c: Expr) -> None:
        """A cache asks for the only copy."""
        a.by(c)
        a.guard("cannot write", (state[c] != "modified") & (wanted[c] == "nothing"), "the cache may not write and asks for nothing")
        a.set(wanted[c], "to write")

    @m.action(sends_to="memory", c=Cache, d=Cache, fair="weak")
    def write_back(a: Body, c: Expr, d: Expr) -> None:
        """The owner writes its data back, because another cache asks for a copy."""
        a.by(c)
        a.guard("owner", (state[c] == "modified") & (wanted[d] != "nothing"), "the cache is the owner, and another one asks")
        a.set(data, copy[c])
        a.set(state[c], ite(wanted[d] == "to read", "shared", "invalid"))
        a.set(owner, None)

    @m.action(part="bus", c=Cache, d=Cache, fair="weak")
    def invalidate(a: Body, c: Expr, d: Expr) -> None:
        """The bus takes a copy away, because another cache asks to write."""
        a.sends_to(d)
        a.guard("shared", (c != d) & (wanted[c] == "to write") & (state[d] == "shared"), "another cache asks to write")
        a.set(state[d], "invalid")

    def serve(a: Body, c: Expr, wish: str, right: str) -> None:
        a.sends_to(c)
        a.guard("asked", wanted[c] == wish, f"the cache asks {wish}")
        a.guard("no owner", owner.is_none, "no cache may write")
        a.set(copy[c], data)
        a.set(state[c], right)
        a.set(wanted[c], "nothing")

    @m.action(part="memory", c=Cache, fair="strong")
    def serve_read(a: Body, c: Expr) -> None:
        """The memory gives a cache a copy."""
        serve(a, c, "to read", "shared")

    @m.action(part="memory", c=Cache, fair="strong")
    def serve_write(a: Body, c: Expr) -> None:
        """The memory gives a cache the only copy."""
        serve(a, c, "to write", "modified")
        if not careless:
            a.guard("alone", alone(c), "no other cache has a copy")
        a.set(owner, c)

    @m.action(c=Cache, d=Int(0, 1))
    def write(a: Body, c: Expr, d: Expr) -> None:
        """The owner writes new data into its copy."""
        a.by(c)
        a.guard("owner", state[c] == "modified", "the cache may write")
        a.set(copy[c], d)
        a.set(newest, d)

    m.always(
        "one writer", forall(Cache, lambda c: implies(state[c] == "modified", alone(c))), "while a cache may write, no other one has a copy"
    )
    m.always("newest", forall(Cache, lambda c: implies(state[c] != "invalid", copy[c] == newest)), "every copy has the data written last")
    return m
