"""Upper bounds on the time until a change is visible: three small models of clocks that tick in seconds.

`expiry`: a broker's machine dies, and the name server's scan removes it from the routes (NS-07). `news`: a created topic reaches the
name server and then a producer, each within a period of 30 s (NS-10, CLI-21). `patience`: one synchronous send with all its waits
(CLI-13 to CLI-17, CLI-28). Time passes only while nothing is due.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Int, coerce, ite, maximum, minimum

from .actors import CLIENT, ENVIRONMENT, HANDLER, NAME_SERVER, SERVICE
from .part import Part

EXPIRE, SCAN, PERIOD = 120, 10, 30
REQUEST, LOCK, ATTEMPTS = 3, 3, 3


class Expiry(Part):
    """The scan for dead brokers: its limit, its period, and the period of registrations."""

    def __init__(self, name: str, *, expire: int = EXPIRE, scan: int = SCAN, period: int = PERIOD) -> None:
        super().__init__(name)
        m, seconds = self.model, Int(0, expire + 2 * scan)
        m.acting("broker", "name server", "clock", service="broker", environment="clock")
        self.alive = m.var("alive", Bool, init=True, sentence="whether the broker's machine runs", part="broker")
        self.age = m.var("age", seconds, init=0, sentence="seconds since the broker's last registration", part="name server")
        self.dead = m.var("dead", seconds, init=0, sentence="seconds since the broker died", part="broker")
        self.scan = m.var("scan", Int(0, scan), init=scan // 2, sentence="seconds until the next scan", part="name server")
        self.begun = m.var("begun", Bool, init=False, sentence="whether the clocks run", part="clock")
        self.listed = m.var("listed", Bool, init=True, sentence="whether the broker is in the routes", part="name server")
        _expires(self, expire, scan, period)


def _expires(x: Expiry, expire: int, scan: int, period: int) -> None:
    most = x.age.type.hi

    @x.action(actor=ENVIRONMENT, rules="NS-07", offset=Int(1, scan))
    def begin(a: Body, offset: Expr) -> None:
        """The clocks start; the first scan follows `offset` seconds after a registration."""
        a.guard("not begun", ~x.begun, "the clocks do not run")
        a.update(x, begun=True, scan=offset)

    @x.action(actor=SERVICE, sends_to="name server", rules="NS-02 NS-09 NS-10", fair="weak")
    def register(a: Body) -> None:
        """The broker registers, or asks about its version, and the name server stores the time."""
        a.guard("alive", x.alive, "the broker's machine runs")
        a.guard("due", x.age == period, "30 s have passed since the last registration")
        a.set(x.age, 0)

    @x.action(actor=ENVIRONMENT, part="broker", rules="NS-07")
    def die(a: Body) -> None:
        """The machine stops without closing its connection."""
        a.guard("alive", x.alive, "the broker's machine runs")
        a.set(x.alive, False)

    @x.action(actor=ENVIRONMENT, part="broker", rules="NS-08")
    def close(a: Body) -> None:
        """The process ends and its connection is closed: the name server removes the broker at once."""
        a.guard("alive", x.alive, "the broker's machine runs")
        a.update(x, alive=False, listed=False)

    @x.action(actor=NAME_SERVER, part="name server", rules="NS-07 NS-08", fair="weak")
    def look(a: Body) -> None:
        """The scan removes the broker from the routes if its last registration is more than 120 s old."""
        a.guard("due", x.scan == 0, "10 s have passed since the last scan")
        a.update(x, listed=x.listed & (x.age <= expire), scan=scan)

    @x.action(actor=ENVIRONMENT, rules="NS-07", fair="weak")
    def second(a: Body) -> None:
        """A second passes."""
        a.guard("begun", x.begun, "the clocks run")
        a.guard("no scan due", x.scan > 0, "the next scan is later")
        a.guard("no registration due", ~x.alive | (x.age < period), "the next registration is later")
        a.bound("of interest", x.listed, "the broker is in the routes")
        a.update(x, scan=x.scan - 1, age=minimum(x.age + 1, most), dead=ite(x.alive, 0, minimum(x.dead + 1, most)))


Asking = Enum("nothing", "asked", "served")


class News(Part):
    """The spread of a created topic to the name server and then to a producer that uses it. `period`: of the timers; `request`: of an
    answer."""

    def __init__(self, name: str, *, period: int = PERIOD, request: int = REQUEST) -> None:
        super().__init__(name)
        m, timer, seconds = self.model, Int(0, period), Int(0, period + request + 1)
        m.acting("producer", "broker", "name server", "clock", client="producer", handler="broker", service="broker", environment="clock")
        self.begun = m.var("begun", Bool, init=False, sentence="whether the clocks run", part="clock")
        self.created = m.var("created", Bool, init=False, sentence="whether the topic is created", part="broker")
        self.listed = m.var("listed", Bool, init=False, sentence="whether the name server has the topic", part="name server")
        self.seen = m.var("seen", Bool, init=False, sentence="whether the producer has the topic's route", part="producer")
        self.since = m.var("since", seconds, init=0, sentence="seconds since the topic was created, and then since the name server has it")
        self.register = m.var("register", timer, init=period, sentence="seconds until the broker's next registration", part="broker")
        self.refresh = m.var("refresh", timer, init=period, sentence="seconds until the producer's next refresh", part="producer")
        self.asking = m.var("asking", Asking, init="nothing", sentence="the state of the producer's refresh", part="producer")
        self.asked = m.var("asked", Int(0, request), init=0, sentence="seconds since the producer asked", part="producer")
        self.good = m.var("good", Bool, init=False, sentence="whether the answer on its way has the topic", part="name server")
        _spreads(self, period, request)


def _spreads(n: News, period: int, request: int) -> None:
    most = n.since.type.hi

    def listing(a: Body) -> None:
        a.set(n.since, 0, when=n.created & ~n.listed)
        a.set(n.listed, n.created)

    @n.action(actor=ENVIRONMENT, offset=Int(0, period - 1))
    def begin(a: Body, offset: Expr) -> None:
        """The clocks start; the producer's timer runs `offset` seconds before the broker's."""
        a.guard("not begun", ~n.begun, "the clocks do not run")
        a.update(n, begun=True, refresh=period - offset)

    @n.action(actor=CLIENT, sends_to="broker", rules="TCM-16")
    def create(a: Body) -> None:
        """A first message creates the topic."""
        a.guard("begun", n.begun, "the clocks run")
        a.guard("new", ~n.created, "the topic is not created yet")
        a.update(n, created=True, since=0)

    @n.action(actor=HANDLER, sends_to="name server", rules="TCM-17")
    def announce(a: Body) -> None:
        """The registration of the creation arrives. It is one-way, so it may also be lost (HAZ-11)."""
        a.guard("not listed", n.created & ~n.listed, "the topic is created, and the name server does not have it")
        listing(a)

    @n.action(actor=SERVICE, sends_to="name server", rules="NS-09 NS-10", fair="weak")
    def register(a: Body) -> None:
        """The timer's registration arrives: the name server has all the broker's topics."""
        a.guard("due", n.register == 0, "30 s have passed since the last")
        listing(a)
        a.set(n.register, period)

    @n.action(actor=CLIENT, sends_to="name server", rules="CLI-07 CLI-21", fair="weak")
    def ask(a: Body) -> None:
        """The producer's refresh asks for the route."""
        a.guard("due", n.refresh == 0, "30 s have passed since the last")
        a.update(n, refresh=period, asking="asked", asked=0)

    @n.action(actor=NAME_SERVER, sends_to="producer", part="name server", rules="NS-06", fair="weak")
    def serve(a: Body) -> None:
        """The name server answers with its current route."""
        a.guard("asked", n.asking == "asked", "a request for the route is on its way")
        a.update(n, good=n.listed, asking="served")

    @n.action(actor=CLIENT, takes_from="name server", rules="CLI-17 CLI-19", fair="weak")
    def learn(a: Body) -> None:
        """The answer arrives."""
        a.guard("answered", n.asking == "served", "an answer is on its way")
        a.update(n, seen=n.seen | n.good, good=False, asking="nothing", asked=0)

    @n.action(actor=ENVIRONMENT, rules="NS-10 CLI-21", fair="weak")
    def second(a: Body) -> None:
        """A second passes. An answer takes at most 3 s."""
        a.guard("begun", n.begun, "the clocks run")
        a.bound("of interest", ~n.seen, "the producer does not know the topic")
        a.guard("no registration due", n.register > 0, "the next registration is later")
        a.guard("no refresh due", n.refresh > 0, "the next refresh is later")
        a.guard("no answer due", (n.asking == "nothing") | (n.asked < request), "no answer is due")
        a.update(n, register=maximum(n.register - 1, 0), refresh=maximum(n.refresh - 1, 0))
        a.set(n.asked, minimum(n.asked + 1, request), when=n.asking != "nothing")
        a.set(n.since, minimum(n.since + 1, most), when=n.created)


Doing = Enum("nothing", "lock", "ask", "choice", "attempt", "over")


class Patience(Part):
    """One synchronous send, for any behaviour of the lock, the name server and the brokers."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        m, longest = self.model, 3
        m.acting("producer", "name server", "broker", "clock", client="producer", handler="broker", environment="clock")
        self.timeout = m.constant("timeout", Int(0, longest), longest, "the send's timeout, in seconds")
        self.doing = m.var("doing", Doing, init="nothing", sentence="what the send waits for", part="producer")
        self.cost = m.var(
            "cost", Int(0, longest + 2 * (LOCK + REQUEST) + 1), init=0, sentence="seconds since the send began", part="producer"
        )
        self.now = m.var(
            "now", Int(0, LOCK), init=0, sentence="seconds that it has waited for the lock or the name server", part="producer"
        )
        self.look = m.var(
            "look", Int(1, 2), init=1, sentence="which look-up of the route it is: the second asks for the template", part="producer"
        )
        self.inside = m.var(
            "inside", Bool, init=False, part="producer",
            sentence="whether the look-up belongs to an attempt whose broker's address is not known",
        )  # fmt: skip
        self.attempts = m.var("attempts", Int(0, ATTEMPTS), init=0, sentence="how many attempts were made", part="producer")
        _sends(self)


def _sends(p: Patience) -> None:
    late = p.timeout < p.cost

    def doing(a: Body, name: str, sentence: str) -> None:
        a.guard("at it", p.doing == name, sentence)

    def lookup_fails(a: Body) -> None:
        """The second look-up follows the first. After both there is no route, or the attempt has failed."""
        again = p.look == 1
        after = ite(p.inside, coerce("choice", Doing), "over")
        a.update(p, doing=ite(again, coerce("lock", Doing), after), look=2, now=0)

    @p.action(actor=ENVIRONMENT, part="producer", rules="CLI-13", known=Bool)
    def begin(a: Body, known: Expr) -> None:
        """The send begins. The route is known, or must be looked up."""
        doing(a, "nothing", "the send has not begun")
        a.set(p.doing, ite(known, coerce("choice", Doing), "lock"))

    @p.action(actor=CLIENT, sends_to="name server", rules="CLI-15")
    def get_lock(a: Body) -> None:
        """The refresh gets the client's lock."""
        doing(a, "lock", "the send waits for the client's lock")
        a.update(p, doing="ask", now=0)

    @p.action(actor=CLIENT, rules="CLI-15", fair="weak")
    def lock_times_out(a: Body) -> None:
        """The refresh has waited 3 s for the lock, and leaves the routes unchanged."""
        doing(a, "lock", "the send waits for the client's lock")
        a.guard("time is up", p.now == LOCK, "3 s have passed")
        lookup_fails(a)

    @p.action(actor=NAME_SERVER, sends_to="producer", part="name server", rules="CLI-16 CLI-17")
    def route_found(a: Body) -> None:
        """The name server answers with a route."""
        doing(a, "ask", "the send waits for the name server")
        a.update(p, doing=ite(p.inside & ~late, coerce("attempt", Doing), "choice"), now=0)

    @p.action(actor=NAME_SERVER, sends_to="producer", part="name server", rules="CLI-14 CLI-17", fair="weak")
    def no_route(a: Body) -> None:
        """The name server has no route."""
        doing(a, "ask", "the send waits for the name server")
        lookup_fails(a)

    @p.action(actor=ENVIRONMENT, part="producer", rules="CLI-17", fair="weak")
    def no_answer(a: Body) -> None:
        """The name server does not answer within 3 s, or cannot be reached. The send ends."""
        doing(a, "ask", "the send waits for the name server")
        a.update(p, doing="over", now=0)

    @p.action(actor=CLIENT, sends_to="broker", rules="CLI-27 CLI-28", fair="weak", known=Bool)
    def attempt(a: Body, known: Expr) -> None:
        """Another attempt begins. The broker's address is known, or must be looked up."""
        doing(a, "choice", "the send is between attempts")
        a.guard("in time", ~late, "the time is not over")
        a.guard("attempts left", p.attempts < ATTEMPTS, "fewer than 3 attempts were made")
        a.update(p, attempts=p.attempts + 1, inside=True, look=1, doing=ite(known, coerce("attempt", Doing), "lock"))

    @p.action(actor=CLIENT, rules="CLI-28 CLI-30", fair="weak")
    def stop(a: Body) -> None:
        """The send ends: its time is over, or three attempts were made."""
        doing(a, "choice", "the send is between attempts")
        a.guard("enough", late | (p.attempts == ATTEMPTS), "the time is over, or 3 attempts were made")
        a.set(p.doing, "over")

    @p.action(actor=HANDLER, sends_to="producer", rules="CLI-29 CLI-30")
    def answered(a: Body) -> None:
        """The broker's answer ends the send."""
        doing(a, "attempt", "an attempt waits for its answer")
        a.set(p.doing, "over")

    @p.action(actor=ENVIRONMENT, part="producer", rules="CLI-28 CLI-30", fair="weak")
    def fails(a: Body) -> None:
        """The attempt fails: an error that allows a retry, a lost connection, or a timeout."""
        doing(a, "attempt", "an attempt waits for its answer")
        a.set(p.doing, "choice")

    @p.action(actor=ENVIRONMENT, rules="CLI-28", fair="weak")
    def second(a: Body) -> None:
        """A second passes while the send waits for the lock, the name server or the broker."""
        waits = ((p.doing == "lock") & (p.now < LOCK)) | ((p.doing == "ask") & (p.now < REQUEST))
        attempt_goes_on = (p.doing == "attempt") & (p.cost < p.timeout)
        a.guard("waits", waits | attempt_goes_on, "the send waits, and its wait is not over")
        a.set(p.cost, minimum(p.cost + 1, p.cost.type.hi))
        a.set(p.now, p.now + 1, when=p.doing != "attempt")
