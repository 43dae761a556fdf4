"""Topics with routes: create a topic on brokers, and wait until a name server has its route. A port that is open is no route.

`python -m rocketproof_properties.brokers.routed NAME_SERVER TOPIC [BROKER...]` exits with 0 if the route exists, for health checks;
`--answers NAME_SERVER` if a name server without brokers answers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from rocketproof_model import interrupts
from rocketproof_protocol import fastjson
from rocketproof_protocol.codes import SUCCESS, TOPIC_NOT_EXIST
from rocketproof_protocol.shown import printable
from rocketproof_protocol.topics import TEMPLATE

from ..programs.vocabulary import plain
from . import probe
from .deployment import TargetError

SECONDS: Final = 30.0
"""The time within which the route of a new topic must exist."""
_POLL: Final = 0.005
_MOST: Final = 0.2


class NoRoute(TargetError):
    """The name server has no route to a topic, or the route lacks a broker."""


def brokers_of(name_server: str, topic: str) -> frozenset[str]:
    """Return the names of the brokers in a topic's route, none if there is no route. Raises TargetError if the name server is not there."""
    answer = probe.ask(name_server, plain("route", topic=topic))
    if answer.code == TOPIC_NOT_EXIST:
        return frozenset()
    if answer.code != SUCCESS:
        raise TargetError(f"the name server at {name_server} answers {answer.code} to a question about {printable(topic)}")
    try:
        return frozenset(str(data["brokerName"]) for data in fastjson.loads(answer.body or b"")["queueDatas"])
    except (ValueError, KeyError, TypeError):
        raise TargetError(f"the name server at {name_server} answers with a route that cannot be read") from None


def require_route(name_server: str, topic: str, brokers: Collection[str] = ()) -> None:
    """Raise NoRoute unless the route of a topic exists and has each of these brokers."""
    there = brokers_of(name_server, topic)
    missing = sorted(set(brokers) - there)
    if not there or missing:
        what = f"the route lacks {', '.join(missing)}" if there else "there is no route"
        raise NoRoute(f"{printable(topic)}: {what} at the name server {name_server}; create the topic on each broker")


def await_routes(name_server: str, topics: Iterable[str], brokers: Collection[str] = (), seconds: float = SECONDS) -> None:
    """Wait until each topic has a route with these brokers. Raises NoRoute after `seconds`."""
    end, pause = time.monotonic() + seconds, _POLL
    for topic in topics:
        while True:
            try:
                require_route(name_server, topic, brokers)
            except NoRoute:
                if time.monotonic() > end:
                    raise
            else:
                break
            interrupts.pause(pause)
            pause = min(2 * pause, _MOST)


def create_topics(name_server: str, brokers: Mapping[str, str], topics: Iterable[str], queues: int = 4, seconds: float = SECONDS) -> None:
    """Create topics on each broker (address by name), and wait until their routes have all of them.

    Raises TargetError if a broker rejects a topic, NoRoute after `seconds`.
    """
    topics = tuple(topics)
    for name, address in brokers.items():
        for topic in topics:
            answer = probe.ask(address, plain("topic", topic=topic, read=queues, write=queues))
            if answer.code != SUCCESS:
                raise TargetError(f"{name} rejects the topic {printable(topic)} with code {answer.code}: {printable(answer.remark or '')}")
    await_routes(name_server, topics, brokers, seconds)


def main(arguments: Sequence[str]) -> None:
    """Run a health check. Raises SystemExit with the reason if it fails."""
    try:
        if arguments[:1] == ["--answers"]:
            brokers_of(arguments[1], TEMPLATE)
        else:
            require_route(arguments[0], arguments[1], arguments[2:])
    except TargetError as problem:
        raise SystemExit(str(problem)) from None
    except IndexError:
        raise SystemExit(__doc__) from None


if __name__ == "__main__":
    main(sys.argv[1:])
