"""Commands that measure."""

from __future__ import annotations

import sys
from pathlib import Path

from .common import DIFFERS, OK, STOPPED, positive


def search(*, peers: bool = False, json: Path | None = None) -> int:
    """Measure the search on the routing model and on the specification.

    Parameters
    ----------
    peers
        Also run SPIN, Stateright and TLC where they are installed.
    json
        Write the rows to this file.
    """
    from .. import store

    if json is not None:
        store.check_writable(json)
    from ..bench import search as measure

    rows, finished = measure(peers=peers)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


def skew(*, topics: int = 2000, seed: int = 0, profile: str = "P49", json: Path | None = None) -> int:
    """Simulate how often a topic ends on one of two brokers, beside the formula and recorded brokers.

    Parameters
    ----------
    topics
        Topics for each number of first messages.
    seed
        The seed of the random walks.
    profile
        The profile of the specification.
    json
        Write the rows to this file.
    """
    from rocketproof_profiles import PROFILES

    from .. import output, store
    from ..choices import known

    positive("--topics", topics)
    profile = known("profile", profile, PROFILES)
    if json is not None:
        store.check_writable(json)
    from ..skew import FIRST_MESSAGES, share

    shares = []
    try:
        for k in FIRST_MESSAGES:
            shares.append(share(k, topics=topics, seed=seed, profile=profile))
    except KeyboardInterrupt:
        print("rocketproof: stopped by Ctrl-C; what was simulated follows", file=sys.stderr)
    if json is not None:
        store.write_json(json, [found.data() for found in shares])
    output.print_skew(shares)
    if len(shares) < len(FIRST_MESSAGES):
        return STOPPED
    return OK if all(found.standard_errors <= 3 for found in shares) else DIFFERS


def serve(*, seconds: int = 10, rounds: int = 3, version: str = "4.9.4", json: Path | None = None) -> int:
    """Measure `serve` beside a real broker: synchronous sends of 1 KiB from the real Java client, which Maven fetches.

    Parameters
    ----------
    seconds
        How long each broker is measured in each round, with 1 thread and with 8.
    rounds
        How often.
    version
        The release of Apache RocketMQ, of the broker and of the client.
    json
        Write the rows to this file.
    """
    positive("--seconds", seconds)
    positive("--rounds", rounds)
    from .. import store

    if json is not None:
        store.check_writable(json)
    from ..bench import serve as measure

    rows, finished = measure(seconds=seconds, rounds=rounds, version=version)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


def simulate(*, seconds: float = 20, json: Path | None = None) -> int:
    """Measure the simulated cluster: sends, appends, dispatch and the programs of `rocketproof test`.

    Parameters
    ----------
    seconds
        How long to measure, about; three rounds at least.
    json
        Write the rows to this file.
    """
    positive("--seconds", seconds)
    from .. import store

    if json is not None:
        store.check_writable(json)
    from ..bench import simulate as measure

    rows, finished = measure(seconds=seconds)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


def judge(*, json: Path | None = None) -> int:
    """Measure the judge of histories on 10,000 events of 8 producers, beside porcupine where Go is installed.

    Parameters
    ----------
    json
        Write the rows to this file.
    """
    from .. import store

    if json is not None:
        store.check_writable(json)
    from ..bench import judge as measure

    rows, finished = measure()
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED
