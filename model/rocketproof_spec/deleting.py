"""Deletion of topics (request 215, TCM-31), and its effect on queues and pending sends (HAZ-18).

Name servers are not informed (HAZ-36). A deletion, even of an unknown topic, removes the queues of every topic that is not in the broker's
table; each restarts at offset 0. The deletion misses a queue to which the dispatcher has added no entry yet, and that queue continues at
its old offset. In the model, the action `outlive` decides this when the queue gets its next record.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Expr, Row, ite

from .actors import ADMINISTRATOR, SERVICE
from .committing import NO_OFFSET
from .handling import answer, in_phase, require_running, write_file
from .vocabulary import Specification


def deletions(s: Specification) -> None:
    """The deletion of a topic, and its consequences."""
    config, offset, outlived = s.config, s.log.offset, s.log.outlived
    assert outlived is not None
    s.refusals["delete_topic"] = {"proper name": s.illegal}

    @s.action(actor=ADMINISTRATOR, part="administrator", rules="TCM-31", b=s.Broker, t=s.Topic, weight=0.1)
    def delete_topic(a: Body, b: Expr, t: Expr) -> None:
        """An administrator deletes a topic. The broker persists its table, but does not register."""
        a.sends_to(b)
        require_running(s, a, b)
        proper = s.of_class(t, "ordinary", "retry") | (s.given("deletes_any_name") & s.of_class(t, "illegal", "long"))
        proper |= ~s.given("guards_topics")
        a.guard("proper name", proper, "the name is legal and not a system topic's, or the release does not check it")
        endless = s.given("update_budget") < 0
        a.bound("updates left", endless | (s.updates < s.given("update_budget")), "the scope allows another update")
        a.bound("versions left", s.version[b] < s.scope.versions, "the scope counts that far")
        known = config[b, t].known

        def table(x: Expr) -> Row:
            remaining: Row = ite(x == t, s.absent, config[b, x])
            return ite(known, remaining, s.file[b, x])

        a.set(s.updates, ite(endless, s.updates, s.updates + 1))
        a.set(config[b, t], s.absent)
        a.set(s.creations[b, t], 0)
        a.set(s.announcements[b, t], 0)
        a.set(s.version[b], s.version[b] + 1, when=known)
        write_file(s, a, b, table, ite(known, s.version[b] + 1, s.file_version[b]))
        if s.scope.of_subject and s.places is not None and s.places.told is not None:
            for k in range(s.scope.progress):
                a.set(s.places.told[b, k], ite((t == s.scope.subject) & s.given("deletes_offsets"), NO_OFFSET, s.places.told[b, k]))
        for x in s.Topic:
            gone = (x == t) | ~config[b, x].known
            for q in s.Queue:
                a.set(outlived[b, x, q], ite(gone & (offset[b, x, q] > 0), offset[b, x, q], outlived[b, x, q]))
                for counter in (offset, s.log.records, s.log.entries):
                    a.set(counter[b, x, q], ite(gone, 0, counter[b, x, q]))
        a.says("an administrator deletes {t} on {b}")

    @s.action(actor=SERVICE, rules="TCM-31 REC-04", b=s.Broker, t=s.Topic, q=s.Queue)
    def outlive(a: Body, b: Expr, t: Expr, q: Expr) -> None:
        """The deletion missed the queue, which had no entry yet. The queue continues at its old offset."""
        require_running(s, a, b)
        a.guard("outlived", outlived[b, t, q] > 0, "the queue had records when its topic was deleted")
        a.guard("nothing since", offset[b, t, q] == 0, "no record has been given an offset since")
        a.set(offset[b, t, q], outlived[b, t, q])
        a.set(s.log.records[b, t, q], outlived[b, t, q])
        a.set(outlived[b, t, q], 0)
        a.says("queue {q} of {t} on {b} continues at its old offset {offset}", offset=outlived[b, t, q])

    @s.handler(rules="SEND-21 REM-08")
    def miss_topic(a: Body, p: Expr) -> None:
        """The topic existed when it was checked, but is deleted when it is used: an exception (HAZ-18)."""
        row, b = in_phase(s, a, p, "append", "the request is accepted", name="accepted")
        a.guard("topic gone", ~config[b, row.topic].known, "the topic was deleted")
        if s.places is not None:
            way = s.places.way[p]
            sent = ~way.back & (way.step != "end") & (way.step != "retry")
            a.guard("a send", sent, "it is neither a send-back nor the end of a transaction, and its group has been checked")
        answer(s, a, p, "SYSTEM_ERROR")
        a.says("{by} answers an error: {topic} was deleted since the check", topic=row.topic)
