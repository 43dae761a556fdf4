"""Topic auto-creation and routing, the model that the peers in this folder state in TLA+, Promela and Rust.

Sizes: B brokers, P producers, M sends a producer, K offset bound, C crashes. The counts of distinct states are equal in
all tools to the last one (see README.md). With `symmetric` brokers, producers and the queues of each broker are interchangeable.
"""

from rocketproof_model import Bool, Int, Maybe, Model, SetOf, all_of, exists, forall, owner, single, total

QUEUES = 4  # of a broker's topic
SCOPES = {
    "small": {"B": 2, "P": 2, "M": 2, "K": 2, "C": 1},
    "main": {"B": 2, "P": 2, "M": 3, "K": 3, "C": 1},
    "three": {"B": 3, "P": 2, "M": 2, "K": 2, "C": 1},
    "four": {"B": 2, "P": 2, "M": 4, "K": 3, "C": 1},
    "crashes": {"B": 2, "P": 2, "M": 4, "K": 3, "C": 2},
    "symmetric": {"B": 2, "P": 2, "M": 3, "K": 3, "C": 1, "symmetric": True},
}


def model(B: int = 2, P: int = 2, M: int = 2, K: int = 2, C: int = 1, symmetric: bool = False) -> Model:
    m = Model("routing")
    Broker, Producer = m.index("Broker", B, symmetric=symmetric), m.index("Producer", P, symmetric=symmetric)
    Queue = m.index("Queue", QUEUES, symmetric=symmetric, of=Broker)

    created = m.var("created", Bool, over=Broker, init=False)
    queues = m.var("queues", Int(0, QUEUES), over=Broker, init=0)
    perm = m.var("perm", Int(0, 7), over=Broker, init=0)
    registered = m.var("registered", Bool, over=Broker, init=True)
    offset = m.var("offset", Int(0, K), over=Queue, init=0)
    route = m.var("route", SetOf(Broker), init=())
    cached = m.var("cached", SetOf(Broker), over=Producer, init=())
    fallback = m.var("fallback", Bool, over=Producer, init=False)
    sending = m.var("sending", Maybe(Queue), over=Producer, init=None)
    sent = m.var("sent", Int(0, M), over=Producer, init=0)
    crashes = m.var("crashes", Int(0, C), init=0)

    @m.action(p=Producer)
    def fetch_route(a, p):
        """A producer without a route asks the name server and falls back to the template's brokers."""
        a.guard("no route", (cached[p] == ()) & ~fallback[p], "the producer has no route")
        a.set(cached[p], route)
        a.set(fallback[p], route == ())

    @m.action(p=Producer)
    def refresh(a, p):
        """The periodic refresh replaces the cached route by the name server's."""
        a.guard("has route", (cached[p] != ()) | fallback[p], "the producer has a route")
        a.guard("advertised", route != (), "the name server knows the topic")
        a.guard("differs", route != cached[p], "the name server's route differs from the cached one")
        a.set(cached[p], route)
        a.set(fallback[p], False)

    @m.action(p=Producer, q=Queue)
    def send(a, p, q):
        """The producer sends a message to a queue of its route."""
        a.guard("routed", fallback[p] | cached[p].has(owner(q)), "the queue's broker is in the producer's route")
        a.guard("idle", sending[p].is_none, "no request of the producer is in flight")
        a.bound("sends left", sent[p] < M, "the producer has sends left")
        a.set(sending[p], q)

    @m.action(p=Producer)
    def handle(a, p):
        """The broker creates the topic if need be and appends the message."""
        q = sending[p].get
        b = owner(q)
        a.guard("in flight", sending[p].is_some, "a request of the producer is in flight")
        a.bound("room", offset[q] < K, "the queue offset is below its bound")
        a.set(offset[q], offset[q] + 1)
        a.set(created[b], True)
        a.set(queues[b], QUEUES, when=~created[b])
        a.set(perm[b], 6, when=~created[b])
        a.set(registered[b], False, when=~created[b])
        a.set(sending[p], None)
        a.set(sent[p], sent[p] + 1)

    @m.action(b=Broker)
    def register(a, b):
        """The broker registers its topics at the name server."""
        a.guard("unregistered", ~registered[b], "the broker has something to register")
        a.set(registered[b], True)
        a.set(route, route | single(b), when=created[b])

    @m.action(b=Broker)
    def crash(a, b):
        """The broker crashes and leaves the route; requests in flight to it are lost."""
        a.bound("crashes left", crashes < C, "the scope allows another crash")
        a.set(crashes, crashes + 1)
        a.set(registered[b], False)
        a.set(route, route - single(b))
        for p in Producer:
            a.set(sending[p], None, when=sending[p].is_some & (owner(sending[p].get) == b))

    m.always("append", forall(Queue, lambda q: (offset[q] == 0) | (queues[owner(q)] == QUEUES)),
             "messages lie only in queues that the topic has")  # fmt: skip
    m.always("no inherit", forall(Broker, lambda b: (perm[b] & 1) == 0), "a created topic does not inherit")
    m.always("conserve", total(Queue, lambda q: offset[q]) == total(Producer, lambda p: sent[p]),
             "every counted send was appended once")  # fmt: skip
    m.reachable(
        "skew",
        exists(Broker, lambda b: (route == single(b)) & forall(Broker, lambda c: created[c] == (c == b)) & all_of(
            (cached[p] == single(b)) & ~fallback[p] & (sending[p].is_none | (owner(sending[p].get) == b)) for p in Producer)),
        "one broker alone has the topic and every producer sends there for ever",
    )  # fmt: skip
    return m
