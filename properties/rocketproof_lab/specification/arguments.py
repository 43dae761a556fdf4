"""Reasons why a mutant that differs from the specification need not be noticed, and why a mutant that does not differ never does.

Each reason covers the mutants whose ids match its patterns. A test rejects a pattern that no mutant needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

ARGUMENTS: Final[Mapping[str, Sequence[str]]] = {
    # sending
    "how much is sent before the 30 s are over is the scope's choice: to the implementation they may be over at any time": [
        r"sending/(refresh: guard 'timer'|send: guard 'before the timer') (?!negated).*"
    ],
    "when a producer's counter gets its first value before its first use is the scope's choice: nobody sees it": [
        r"sending/find_route: guard 'started' dropped"
    ],
    # answers
    "only what is in the queue has a place, and this request is not there": [
        r"answers/(unknown_code|reject|overload|completion_rejected): job\.place not set"
    ],
    "where the thread is free the queue is empty (AUX-11), so that there is room anyway": [
        r"answers/(submit|overload|put_fails|completion_rejected): guard '(room|full)' without ~.*"
    ],
    "a request has a future only where the release puts asynchronously": [
        r"answers/(put|put_fails|completion_rejected|future_throws|reply|end): guard 'asynchronous' dropped"
    ],
    # locks
    "who does not wait has waited 0 s this time": [
        r"locks/give_up: guard 'waits' dropped",
        r"locks/second: guard 'nobody has to give up' without \(job\[.*\]\.step != waits\)",
    ],
    "only a request for a retry topic waits a second time": [r"locks/give_up: job\.second (set to job\.retry|with job\[r\]\.retry .*)"],
    "whoever waits, waits for one that holds the lock": [
        r"locks/second: guard 'somebody waits or holds' with(out)? \(job\[.*\]\.step == waits\).*"
    ],
    # expiry
    "a broker that registers is alive, and has been dead for 0 s": [r"expiry/register: age set to dead"],
    "a dead broker is out of the routes after 130 s, and the scope ends there": [r"expiry/second: (age|dead) with .* < 140\) one earlier"],
    # news
    "since is 0 until the topic is created": [r"news/create: since not set"],
    "asked is 0 while nothing is asked": [r"news/(ask: asked not set|second: guard 'no answer due' without \(asking == nothing\))"],
    "the scope ends once the producer knows the topic: it asks no more": [r"news/learn: seen set to good"],
    # recovery
    "a start builds the queue anew in every condition, so that the next offset is the number of records": [
        r"recovery/append: (odd (not set|set to its initial value|without odd)|offset with written .*)",
        r"recovery/start: (torn set to odd|(entries|offset) (set to written|with (\(entries < written\)|forced) (?!taken).*))",
    ],
    "never are more entries forced than there are": [r"recovery/start: forced with (\(entries < written\) one earlier|forced .*)"],
    "nothing torn is in the log of a broker that runs": [r"recovery/(crash|power_loss): up set to torn"],
    # controller
    "nothing says how soon a master asks for a slave that it may ask for": [
        r"controller/ask: guard 'caught up' (without \(log\[r, .\] == (0|log\[master, .\])\)|with .* (one less|taken for <))"
    ],
    "a cut at the end of a log takes nothing that is there, and what is taken for confirmed beyond it is in no log": [
        r"controller/cut: guard 'parts' (dropped|without .*|with .* one less)"
    ],
    "what a slave takes for confirmed its master has, too": [r"controller/acknowledge: guard 'master' (dropped|negated)"],
    "where the two differ, a record has a wrong queue offset already": [
        r"controller/(append|elect_again): offset with length\[r\] read for offset\[r\]",
        r"controller/elect: offset with offset\[r\] read for entries\[r\]",
    ],
    "one of two replicas is treated otherwise, and the other one shows the same": [r"controller/confirm: guard 'had by all' without .*"],
    "of two replicas only one can be asked for": [r"controller/expand: guard 'asked for' without \(asked == r\)"],
    # sizes
    "where two limits refuse with one answer, nobody sees which of them was asked first": [
        r"sizes/refuse_(text|bytes|size): guard 'passed' (without|with) \(127 < \(128 if \(job\.topic == more characters\) else 127\)\).*",
        r"sizes/refuse_(bytes|size): guard 'passed' without \(\(job\.kind != batch\) .*",
        r"sizes/refuse_(bytes|size): guard 'passed' with (\(job\.text == .*\) taken for .*|\(\(\(32768 if .*\) <= 32767\) one later.*)",
        r"sizes/refuse_bytes: guard 'passed' with stores_parsed the other way round",
        r"sizes/refuse_hosts: guard 'passed' with \(job\.body == limit\) taken for more",
    ],
    # transactions, and where they meet delays
    "one message is what the scopes look at: a broker takes more": [
        r"transactions/(put_other|refuse|put_prepared): guard 'first' .*",
        r"meeting/half_put_other: guard 'first' .*",
        r"meeting/retry: guard '(once|checked)' dropped",
    ],
    "what a producer knows and says is the condition's choice: a broker ends whichever copy it is told to": [
        r"(transactions/|meeting/half_)(commit|roll_back): guard '(known|the same)' .*",
    ],
    "whether messages have a delay, and whether clocks are set back, is the condition's choice": [
        r"meeting/(delay_set_clock_back: guard 'may be set back'|half_put_half: guard 'may be delayed') .*",
    ],
    # persistence
    "only a release that replaces the file comes to this phase": [
        r"persistence/(half_tmp|fill_tmp|rename_tmp|rename_fails): guard 'by way of a temporary file' dropped"
    ],
    "only a release that overwrites the file in place comes to this phase": [
        r"persistence/(half_main|fill_main): guard 'in place' dropped"
    ],
    "the file was opened for writing, and has no topics any more": [r"persistence/half_(tmp|bak|main): (tmp|bak|main)\.topics not set"],
    "without a process there is no table in memory that could have news": [r"persistence/register: guard 'broker runs' dropped"],
    "no condition has both errors and losses of power": [
        r"persistence/(disk_full|delete_fails|rename_fails): errors with powers read for errors"
    ],
    "the main file is gone then: had the delete failed, it were the second error": [
        r"persistence/rename_fails: backup\.text set to main\.text"
    ],
    "a start that is refused has read no topics": [r"persistence/start: memory set always"],
    "an update of a topic that is there persists the same table; the scope has first creations only": [
        r"persistence/create: guard 'unknown' dropped"
    ],
    "the system writes back whatever runs; that it does so between an end and a start is what it could do before the end": [
        r"persistence/write_back: guard 'broker runs' dropped"
    ],
    # backs
    "which way the consumer takes is the condition's choice, and a broker serves either": [r"backs/back_retry: guard 'its way' dropped"],
    # flush
    "the group commit is one thread, which flushes for the request that it looks at; one flush more only brings more to the device": [
        r"flush/flush_unasked: guard 'none begun' dropped"
    ],
    "no flush is counted while the service looks at no request": [r"flush/exchange: passes not set"],
    "a service that does not run has read no request": [r"flush/(confirm|flush|deny): guard 'service runs' dropped"],
    # dispatch
    "an administrator deletes a topic at any time; before it is checked, the creation that follows is in the scopes of sending": [
        r"dispatch/delete_topic: guard 'checked' dropped"
    ],
    "no two puts end at one place of the log": [r"flush/(confirm|flush|deny): guard 'its turn' with .* taken for <="],
}
"""By reason: regular expressions for the complete ids of the mutants."""


def of(id_: str) -> str:
    """Return the reason for a mutant, "" if there is none."""
    return next((reason for reason, patterns in ARGUMENTS.items() if any(re.fullmatch(ids, id_) for ids in patterns)), "")
