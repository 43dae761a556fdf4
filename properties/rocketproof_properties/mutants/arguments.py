"""Why nothing has to notice a mutant that differs from the specification, and why one that does not differ never does.

Each argument is for the mutants whose ids it matches. One that no mutant needs is refused by a test.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Argument:
    """`ids` is a regular expression for the whole id."""

    ids: str
    reason: str


ARGUMENTS: tuple[Argument, ...] = (
    # answers
    Argument(
        r"answers/(unknown_code|reject|overload|completion_rejected): job\.place not set",
        "only what is in the queue has a place, and this request is not there",
    ),
    Argument(
        r"answers/(submit|overload|put_fails|completion_rejected): guard '(room|full)' without ~.*",
        "where the thread is free the queue is empty (AUX-11), so that there is room anyway",
    ),
    Argument(
        r"answers/(put|put_fails|completion_rejected|future_throws|reply|end): guard 'asynchronous' dropped",
        "a request has a future only where the release puts asynchronously",
    ),
    # locks
    Argument(r"locks/give_up: guard 'waits' dropped", "who does not wait has waited 0 s this time"),
    Argument(
        r"locks/second: guard 'nobody has to give up' without \(job\[.*\]\.step != waits\)", "who does not wait has waited 0 s this time"
    ),
    Argument(
        r"locks/give_up: job\.second (set to job\.retry|with job\[r\]\.retry .*)", "only a request for a retry topic waits a second time"
    ),
    Argument(
        r"locks/second: guard 'somebody waits or holds' with(out)? \(job\[.*\]\.step == waits\).*",
        "whoever waits, waits for one that holds the lock",
    ),
    # expiry
    Argument(r"expiry/register: age set to dead", "a broker that registers is alive, and has been dead for 0 s"),
    Argument(
        r"expiry/second: (age|dead) with .* < 140\) one earlier", "a dead broker is out of the routes after 130 s, and the scope ends there"
    ),
    # news
    Argument(r"news/create: since not set", "since is 0 until the topic is created"),
    Argument(r"news/(ask: asked not set|second: guard 'no answer due' without \(asking == nothing\))", "asked is 0 while nothing is asked"),
    Argument(r"news/learn: seen set to good", "the scope ends once the producer knows the topic: it asks no more"),
    # recovery
    Argument(
        r"recovery/append: (odd (not set|set to its initial value|without odd)|offset with written .*)",
        "a start builds the queue anew in every condition, so that the next offset is the number of records",
    ),
    Argument(
        r"recovery/start: (torn set to odd|(entries|offset) (set to written|with (\(entries < written\)|forced) (?!taken).*))",
        "a start builds the queue anew in every condition, so that the next offset is the number of records",
    ),
    Argument(r"recovery/start: forced with (\(entries < written\) one earlier|forced .*)", "never are more entries forced than there are"),
    Argument(r"recovery/(crash|power_loss): up set to torn", "nothing torn is in the log of a broker that runs"),
    # persistence
    Argument(
        r"persistence/(half_tmp|fill_tmp|rename_tmp|rename_fails): guard 'by way of a temporary file' dropped",
        "only a release that replaces the file comes to this phase",
    ),
    Argument(
        r"persistence/(half_main|fill_main): guard 'in place' dropped",
        "only a release that overwrites the file in place comes to this phase",
    ),
    Argument(
        r"persistence/half_(tmp|bak|main): (tmp|bak|main)\.topics not set", "the file was opened for writing, and has no topics any more"
    ),
    Argument(r"persistence/register: guard 'broker runs' dropped", "without a process there is no table in memory that could have news"),
    Argument(
        r"persistence/(disk_full|delete_fails|rename_fails): errors with powers read for errors",
        "no condition has both errors and losses of power",
    ),
    Argument(
        r"persistence/rename_fails: backup\.text set to main\.text",
        "the main file is gone then: had the delete failed, it were the second error",
    ),
    Argument(r"persistence/start: memory set always", "a start that is refused has read no topics"),
    Argument(
        r"persistence/create: guard 'unknown' dropped",
        "an update of a topic that is there persists the same table; the scope has first creations only",
    ),
    Argument(
        r"persistence/write_back: guard 'broker runs' dropped",
        "the system writes back whatever runs; that it does so between an end and a start is what it could do before the end",
    ),
    # flush
    Argument(
        r"flush/flush_unasked: guard 'none begun' dropped",
        "the group commit is one thread, which flushes for the request that it looks at; one flush more only brings more to the device",
    ),
    Argument(r"flush/exchange: passes not set", "no flush is counted while the service looks at no request"),
    Argument(r"flush/(confirm|flush|deny): guard 'service runs' dropped", "a service that does not run has read no request"),
    Argument(r"flush/(confirm|flush|deny): guard 'its turn' with .* taken for <=", "no two puts end at one place of the log"),
)


def of(id_: str) -> str:
    """The argument about a mutant, "" if there is none."""
    return next((argument.reason for argument in ARGUMENTS if re.fullmatch(argument.ids, id_)), "")
