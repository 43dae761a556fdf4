"""Topic creation by a send. Each action is the work of a thread between two points at which other threads can observe it."""

from __future__ import annotations

from functools import partial

from rocketproof_model.language import Body, Expr, Row, coerce, ite, minimum

from .arithmetic import clamped, stripped
from .handling import answer, in_phase, send_registration, use_config, write_file
from .vocabulary import Phase, Specification, inherits


def creation(s: Specification) -> None:
    """Topic creation under the broker lock (TCM-10 to TCM-17), and the fallback for retry topics (TCM-20 to TCM-23)."""
    _lock(s)
    _template(s)
    _commit(s)
    _unlock(s)
    _failure(s)


def _lock(s: Specification) -> None:
    """The broker lock, and the second look-up under it."""
    config = s.config
    phase = partial(in_phase, s)

    @s.handler(rules="TCM-10 TCM-21")
    def acquire_lock(a: Body, p: Expr) -> None:
        """The request acquires the broker lock."""
        _, b = phase(a, p, "missing", "creation is about to be tried", then="locked")
        a.guard("lock free", s.lock[b].is_none, "no request holds the broker lock")
        a.set(s.lock[b], p)
        a.says("{by} locks topic creation for the request of {p}")

    @s.handler(rules="TCM-10 TCM-21", fair=None, weight=0.1)
    def lock_timeout(a: Body, p: Expr) -> None:
        """The request waits 3000 ms for the broker lock, times out, and continues without a topic."""
        _, b = phase(a, p, "missing", "creation is about to be tried", then="failed")
        a.guard("lock held", s.lock[b].is_some, "another request holds the broker lock")
        a.says("{by} waits 3 s for the lock in vain and continues without a topic")

    @s.handler(rules="TCM-11")
    def look_again_found(a: Body, p: Expr) -> None:
        """Under the lock the topic exists: another request has created it."""
        row, b = phase(a, p, "locked", "the request holds the broker lock", then="found")
        a.guard("known", config[b, row.topic].known, "the broker has the topic")
        use_config(s, a, row, config[b, row.topic])
        a.says("{by} finds {topic} under the lock: another request has created it", topic=row.topic)

    @s.handler(rules="TCM-11 TCM-22")
    def look_again_missing(a: Body, p: Expr) -> None:
        """Under the lock the topic is still unknown. The fallback for retry topics needs no template."""
        row, b = phase(a, p, "locked", "the request holds the broker lock", then="template")
        a.guard("unknown", ~config[b, row.topic].known, "the broker does not have the topic")
        a.says("{by} still does not have {topic} under the lock", topic=row.topic)


def _template(s: Specification) -> None:
    """The default topic, and the new configuration from it; for retry topics the fallback."""
    config = s.config
    phase = partial(in_phase, s)

    @s.handler(rules="TCM-12")
    def template_absent(a: Body, p: Expr) -> None:
        """The default topic that the request names does not exist."""
        row, b = phase(a, p, "template", "the topic is still unknown under the lock", then="refused")
        a.guard("by template", ~row.fallback, "the topic is created from a template")
        a.guard("template unknown", ~config[b, row.default].known, "the broker does not have the default topic")
        a.says("{by} does not have the default topic {default}", default=row.default)

    @s.handler(rules="TCM-13")
    def template_found(a: Body, p: Expr) -> None:
        """The default topic exists. If auto-creation is off, TBW102 loses INHERIT: its permission becomes 6 in the table."""
        row, b = phase(a, p, "template", "the topic is still unknown under the lock", then="inherit")
        a.guard("by template", ~row.fallback, "the topic is created from a template")
        a.guard("template known", config[b, row.default].known, "the broker has the default topic")
        reduced = s.of_class(row.default, "template") & ~s.given("auto_create")
        if s.scope.deletes:
            template = config[b, row.default]
            use_config(s, a, row, Row({**template.fields, "perm": ite(reduced, 6, template.perm)}))
        a.set(config[b, row.default].perm, 6, when=reduced)
        a.set(row.touched, True, when=reduced & (config[b, row.default].perm != 6))
        a.says("{by} takes {default} as the template of {topic}", default=row.default, topic=row.topic)

    def template_of(row: Row, b: Expr) -> Row:
        """The default topic as the request found it, if it has been deleted since."""
        template = config[b, row.default]
        if not s.scope.deletes:
            return template
        return Row({name: ite(template.known, template.fields[name], row.fields[name]) for name in ("read", "write", "perm")})

    @s.handler(rules="TCM-14")
    def template_not_inherited(a: Body, p: Expr) -> None:
        """The template's permission lacks INHERIT: no topic is created."""
        row, b = phase(a, p, "inherit", "the template's permission is checked next", then="refused")
        a.guard("may not inherit", ~inherits(template_of(row, b)), "the template's permission lacks INHERIT")
        a.says("{by} does not create {topic}: {default} lacks INHERIT", topic=row.topic, default=row.default)

    @s.handler(rules="TCM-14 TCM-15 PERM-01")
    def build(a: Body, p: Expr) -> None:
        """The new configuration: both counts are the clamped queue count, and the permission is the template's without INHERIT."""
        row, b = phase(a, p, "inherit", "the template's permission is checked next", then="built")
        template = template_of(row, b)
        a.guard("may inherit", inherits(template), "the template's permission has INHERIT")
        queues = clamped(row.numbers, template.write)
        a.update(row, read=queues, write=queues, perm=stripped(template.perm))
        a.says("{by} prepares {topic} with {queues:queue}", topic=row.topic, queues=queues)

    if s.scope.named("retry"):

        @s.handler(rules="TCM-22 CHK-08")
        def build_retry(a: Body, p: Expr) -> None:
            """The fallback for retry topics: one queue and permission 6, regardless of the template and the switch."""
            row, _ = phase(a, p, "template", "the topic is still unknown under the lock", then="built")
            a.guard("second way", row.fallback, "creation from the template failed")
            a.update(row, read=1, write=1, perm=6)
            a.says("{by} prepares retry topic {topic} with 1 queue", topic=row.topic)


def _commit(s: Specification) -> None:
    """The topic enters the table, and the table is persisted with a new version."""
    config = s.config
    phase = partial(in_phase, s)

    @s.handler(rules="TCM-16 TCM-04")
    def put(a: Body, p: Expr) -> None:
        """The topic enters the table, where every thread can see it."""
        row, b = phase(a, p, "built", "the new configuration is ready", then="put")
        t = row.topic
        a.set(config[b, t], s.Config(known=True, read=row.read, write=row.write, perm=row.perm, order=False))
        a.set(s.creations[b, t], minimum(s.creations[b, t] + 1, 2))
        a.update(row, touched=True, created=True)
        a.says("{by} creates {topic} with {queues:queue}", topic=t, queues=row.read)

    @s.handler(rules="TCM-16 TCM-02")
    def next_version(a: Body, p: Expr) -> None:
        """The data version of the table is incremented."""
        _, b = phase(a, p, "put", "the topic is in the table", then="versioned")
        a.bound("versions left", s.version[b] < s.scope.versions, "the scope counts that far")
        a.set(s.version[b], s.version[b] + 1)
        a.says("{by} increments its table's version to {version}", version=s.version[b] + 1)

    @s.handler(rules="TCM-16 PER-01")
    def persist(a: Body, p: Expr) -> None:
        """The whole table is written to its file, still under the lock."""
        _, b = phase(a, p, "versioned", "the version is incremented", then="persisted")
        write_file(s, a, b)
        a.says("{by} writes its topic table to its file")


def _unlock(s: Specification) -> None:
    """The lock is released, and a creation is registered."""
    phase = partial(in_phase, s)

    @s.handler(rules="TCM-17")
    def unlock(a: Body, p: Expr) -> None:
        """The creator releases the broker lock."""
        _, b = phase(a, p, "persisted", "the table is persisted", then="unlocked")
        a.set(s.lock[b], None)
        a.says("{by} releases the lock after creating {topic}", topic=s.job[p].topic)

    @s.handler(rules="TCM-11 TCM-17")
    def unlock_found(a: Body, p: Expr) -> None:
        """The request that lost the race releases the lock and uses the topic. It changes no version, persists nothing and registers
        nothing."""
        _, b = phase(a, p, "found", "the second look-up found the topic", then="checked")
        a.set(s.lock[b], None)
        a.says("{by} releases the lock and uses the existing {topic}", topic=s.job[p].topic)

    @s.handler(rules="TCM-12 TCM-14")
    def unlock_refused(a: Body, p: Expr) -> None:
        """Without a usable template the lock is released and no topic is created."""
        _, b = phase(a, p, "refused", "the template is missing or lacks INHERIT", then="failed")
        a.set(s.lock[b], None)
        a.says("{by} releases the lock without creating {topic}", topic=s.job[p].topic)

    @s.handler(rules="TCM-17 TCM-34 NS-10")
    def announce(a: Body, p: Expr) -> None:
        """The creator registers after releasing the lock: it sends the whole table one-way, or in later releases the new topic alone."""
        row, b = phase(a, p, "unlocked", "the topic is created and the lock released", then="checked")
        a.bound("none in flight", ~s.registration_in_flight[b], "no registration of this broker is in flight")
        send_registration(s, a, b, only=(row.topic, s.given("registers_created_alone")))
        a.set(s.announcements[b, row.topic], minimum(s.announcements[b, row.topic] + 1, 2))
        a.says("{by} registers {topic} at the name server", topic=row.topic)


def _failure(s: Specification) -> None:
    """After a failed creation: the fallback for retry topics, or an error."""
    config = s.config
    phase = partial(in_phase, s)

    if s.scope.named("retry"):

        @s.handler(rules="CHK-08 TCM-20")
        def second_way(a: Body, p: Expr) -> None:
            """Creation of a retry topic is tried again without the template, with one queue."""
            row, b = phase(a, p, "failed", "creation failed")
            a.guard("retry topic", s.of_class(row.topic, "retry"), "the topic is a retry topic")
            a.guard("first time", ~row.fallback, "the fallback has not been tried")
            a.update(row, fallback=True, phase=ite(config[b, row.topic].known, coerce("checked", Phase), "missing"))
            use_config(s, a, row, config[b, row.topic])
            a.says("{by} tries again to create retry topic {topic}, without a template", topic=row.topic)

    @s.handler(rules="CHK-09")
    def topic_not_exist(a: Body, p: Expr) -> None:
        """The topic does not exist and could not be created."""
        row, _ = phase(a, p, "failed", "creation failed")
        a.guard("no second way", ~s.of_class(row.topic, "retry") | row.fallback, "there is no fallback left to try")
        answer(s, a, p, "TOPIC_NOT_EXIST")
        a.says("{by} answers TOPIC_NOT_EXIST for {topic}", topic=row.topic)
