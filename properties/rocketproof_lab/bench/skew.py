"""Simulate how often auto-creation leaves a topic on one broker permanently, and compare it with real brokers.

There are two brokers and one producer whose round robin starts at any queue. The producer sends k first messages, refreshes after 30 s, and
then sends more messages than there are queues. The random walk uses the specification with its refresh timer. The formula max(0, 2(5-k)/8)
and recorded figures of real brokers are shown for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocketproof_model import Expr, count
from rocketproof_spec import Specification, build, constants

from .figures import Bench, FigureColumn, FigureTable, Tell, benchmark

QUEUES = 8  # in both brokers' lists together
STEPS = 600  # far more than a run needs; every run ends by itself

# Number of 12 topics that ended on a single broker: one Java producer, a pause of 35 s, then 200 more messages.
RECORDED = {"4.9.4": (12, 10, 5, 4, 0), "5.3.3": (12, 8, 8, 5, 0)}
RECORDED_TOPICS = 12
FIRST_MESSAGES = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class SkewShare:
    """The result of a simulation: `skewed` of `topics` topics ended on a single broker. `predicted` is the formula's share."""

    first_messages: int
    topics: int
    skewed: int
    interval: tuple[float, float]
    predicted: float

    @property
    def share(self) -> float:
        return self.skewed / self.topics

    @property
    def standard_errors(self) -> float:
        """Difference between the share and the formula's, in the formula's standard errors. If those are 0, it is 0 or infinite."""
        spread = math.sqrt(self.predicted * (1 - self.predicted) / self.topics)
        off = abs(self.share - self.predicted)
        return off / spread if spread else (0.0 if off == 0 else math.inf)

    def data(self) -> Bench:
        """Return a row. `standard_errors` is None if infinite."""
        recorded = {release: counts[self.first_messages - 1] / RECORDED_TOPICS for release, counts in RECORDED.items()}
        return {
            "first_messages": self.first_messages,
            "topics": self.topics,
            "skewed": self.skewed,
            "share": self.share,
            "interval": list(self.interval),
            "predicted": self.predicted,
            "standard_errors": self.standard_errors if math.isfinite(self.standard_errors) else None,
            "recorded": recorded,
        }


def alone(s: Specification) -> Expr:
    """Exactly one broker has the topic."""
    return count(s.Broker, lambda b: s.config[b, s.scope.subject].known) == 1


def share(first_messages: int, *, topics: int = 2000, seed: int = 0, profile: str = "P49") -> SkewShare:
    """Simulate topics whose producer sends this many messages (1 to 5) before its first refresh."""
    from rocketproof_model import simulate

    s = build("skew")
    given = constants(profile, round_robin=True, burst=first_messages, sends=first_messages + QUEUES)
    estimate = simulate.estimate(s.model.given(**given), {"alone": alone(s)}, runs=topics, steps=STEPS, seed=seed)
    if estimate.runs < topics:
        raise KeyboardInterrupt
    tally = estimate.tallies[0]
    assert tally.last is not None and tally.last_interval is not None, "the whole simulation ran"
    predicted = max(0.0, 2 * (5 - first_messages) / QUEUES)
    return SkewShare(first_messages, topics, tally.last, tally.last_interval, predicted)


@benchmark
def measure(*, topics: int, seed: int, profile: str, tell: Tell) -> Iterator[Bench]:
    """Return one row of shares per number of first messages."""
    for number in FIRST_MESSAGES:
        tell(f"{topics} topics of {number} first messages")
        yield share(number, topics=topics, seed=seed, profile=profile).data()


def text(rows: Sequence[Bench]) -> str:
    """Return a table of the simulated shares of skewed topics with the formula's and the recorded shares."""
    columns = [
        FigureColumn("k", "first_messages", "d"),
        FigureColumn("topics", "topics", ",d"),
        FigureColumn("share", "share", ".3f"),
        FigureColumn("99 % interval", "interval", lambda interval: "{:.3f}-{:.3f}".format(*interval)),
        FigureColumn("formula", "predicted", ".2f"),
        FigureColumn("s.e. off", "standard_errors", ".1f"),
    ]
    columns += [FigureColumn(release, release, "s") for release in RECORDED]
    recorded_counts = [
        {release: f"{share_ * RECORDED_TOPICS:.0f} of {RECORDED_TOPICS}" for release, share_ in each["recorded"].items()} for each in rows
    ]
    lines = FigureTable(columns).text([each | known for each, known in zip(rows, recorded_counts, strict=True)])
    return f"topics that end on one of two brokers alone, by number of first messages k\n{lines}"
