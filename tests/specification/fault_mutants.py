"""Mutants of the specification's faults: the file, responses, waits and deadlines, flush and recovery, and send-backs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noticed import Noticed, guard, sets

from rocketproof_model import Bool, Expr, ite
from rocketproof_model.language import coerce, const, maximum, rewrite
from rocketproof_model.transforms.mutation import ModelMutant, dropped
from rocketproof_spec import Part
from rocketproof_spec.answering import Answering, Stage
from rocketproof_spec.bounds import NAME_LIMIT, TEXT_LIMIT
from rocketproof_spec.controller import Controller
from rocketproof_spec.deadlines import EXPIRE, SCAN, Expiry, News, Patience
from rocketproof_spec.delays import HALF, Delays
from rocketproof_spec.device import Answer as Ended
from rocketproof_spec.device import Device
from rocketproof_spec.dispatching import Dispatching, Stored
from rocketproof_spec.flushing import Flushing
from rocketproof_spec.meeting import Meeting
from rocketproof_spec.pairs import MasterAndSlave
from rocketproof_spec.persistence import Life, Persistence
from rocketproof_spec.progress import ConsumerProgress
from rocketproof_spec.recovery import Recovery
from rocketproof_spec.registering import Registrations
from rocketproof_spec.sendbacks import Answer as Answered
from rocketproof_spec.sendbacks import Place, Sendbacks
from rocketproof_spec.sizes import Answer, Sizes, stored_text
from rocketproof_spec.starting import Group, Said, Starting, State
from rocketproof_spec.times import Times, within
from rocketproof_spec.transactions import Outcome, Transactions
from rocketproof_spec.waiting import Step, WaitingRequests


def of_fault(s: Part) -> list[Noticed]:
    return _MADE[type(s)](s)


def _persistence(p: Persistence) -> list[Noticed]:
    twice: dict[str, Any] = {"settings": {"crash_budget": 2}}
    fresh: dict[str, Any] = {"settings": {"crash_budget": 2, "earlier": False}}
    power: dict[str, Any] = {"settings": {"power_budget": 1, "crash_budget": 1}}
    main, bak = p.main.text, p.bak.text
    no_file = (main == "missing") & (bak == "missing")
    refused = lambda v: ite(no_file, coerce("refused", Life), v)  # noqa: E731
    too_early = lambda c: c | (p.phase == "tmp written")  # noqa: E731
    not_empty = lambda c: c & (main != "empty")  # noqa: E731
    return [
        sets("M-54.file", "AUX-10", "fill_bak", "bak.topics", p.new, "the backup gets the new text", **twice),
        guard("M-55.file", "INV-26", "delete_main", "its turn", too_early, "the main file is deleted without a backup", **twice),
        sets("M-57.file", "INV-28", "start", "life", refused, "load is false when both files are missing", usual="violated", **fresh),
        guard("M-59.file", "REA-40", "truncate_bak", "previous content", not_empty, "an empty file is not backed up", **power),
        sets("C-27", "INV-27", "rename_tmp", "main.text", const(0, main.type), "the rename loses the file", **twice),
        sets("C-28", "INV-27", "start", "memory", p.bak.topics, "load prefers the backup", **twice),
    ]


def _answering(v: Answering) -> list[Noticed]:
    served = {"refuses": False, "future_throws": False}
    waits, room = {"future_throws": False}, {"future_throws": False, "capacity": 3}
    full = "a completion is dropped although there is room"
    again = "the completion of an answered put answers again"
    return [
        sets("M-67.answers", "INV-03", "put", "job.answers", _always_answered, "a one-way put is answered too", settings=served),
        sets("C-42", "INV-02", "put", "job.stage", _answers_again, again, settings=served),
        guard("C-43", "INV-01", "completion_rejected", "full", dropped, full, settings=room),
        guard("C-44", "INV-02", "clean", "a request", dropped, "fast failure takes completions too", settings=waits),
    ]


def _always_answered(term: Expr) -> Expr:
    def flagless(e: Expr) -> Expr | None:
        return const(1, Bool) if e.op == "not" and e.args[0].op == "ref" and e.args[0].args[0].name == "job.one_way" else None

    return rewrite(term, flagless)


def _answers_again(term: Expr) -> Expr:
    codes = {Stage.encode("end queued"): Stage.encode("reply queued"), Stage.encode("ends"): Stage.encode("replies")}

    def replies(e: Expr) -> Expr | None:
        return const(codes[e.args[0]], Stage) if e.op == "const" and e.type == Stage and e.args[0] in codes else None

    return rewrite(term, replies)


def _waiting(w: WaitingRequests) -> list[Noticed]:
    second = w.job[Expr("par", ("r",), w.Request)].second
    ordinary, slow = {"slow": 4, "retries": False}, {"slow": 1}
    nobody = "nobody has to give up"
    twice = lambda v: ite(second, v, coerce("waits", Step))  # noqa: E731
    return [
        guard("M-39", "INV-25", "second", nobody, dropped, "the lock is waited for without a limit", settings=ordinary),
        sets("C-25", "INV-25", "give_up", "job.step", twice, "every topic is tried a second time", settings=ordinary),
        guard("C-20", "INV-20", "second", "persist goes on", dropped, "a persist takes a second longer", settings=slow),
    ]


def _expiry(x: Expiry) -> list[Noticed]:
    return [
        sets("C-54", "LIV-04", "look", "listed", x.listed & (x.age <= EXPIRE + SCAN), "a broker expires only at the scan after"),
        sets("C-55", "REA-53", "look", "listed", x.listed & (x.age < EXPIRE), "a broker expires at 120 s sharp"),
        sets("C-56", "AUX-14", "look", "listed", x.listed & (x.age <= 20), "a broker expires after 20 s"),
    ]


def _news(n: News) -> list[Noticed]:
    return [
        guard("C-57", "LIV-01", "second", "no registration due", dropped, "the timer's registration is late"),
        sets("C-58", "LIV-02", "learn", "seen", n.seen, "the refresh leaves the cache as it is"),
        guard("C-59", "LIV-02", "second", "no answer due", dropped, "an answer takes as long as it likes"),
    ]


def _patience(p: Patience) -> list[Noticed]:
    attempting, in_time = p.doing == "attempt", p.timeout < p.cost
    return [
        guard("M-113.time", "LIV-07", "second", "waits", lambda c: c | attempting, "an attempt takes as long as it likes"),
        guard("C-60", "LIV-07", "attempt", "in time", dropped, "an attempt begins though the time is over"),
        guard("C-61", "LIV-07.fair", "stop", "enough", in_time, "attempts are made without end"),
    ]


def _flushing(f: Flushing) -> list[Noticed]:
    unserved, thrown, seen = {"serves": False}, {"throws": True}, "not seen on the device"
    serves = lambda c: c & f.serves  # noqa: E731
    endless = "a put waits for the group commit without a limit"
    return [
        guard("C-62", "LIV-09.denied", "deny", seen, dropped, "the record is not looked for again after the second flush"),
        guard("C-63", "LIV-09.confirmed", "confirm", "on the device", dropped, "a put is confirmed before its flush"),
        guard("C-64", "LIV-09", "time_out", "waits", serves, endless, settings=unserved),
        sets("C-65", "LIV-05", "throw", "age", f.age, "the lock's time stays after an exception", settings=thrown),
    ]


def _recovery(r: Recovery) -> list[Noticed]:
    power: dict[str, Any] = {"settings": {"power_budget": 2}}
    return [
        guard("C-66", "INV-06.start", "acknowledge", "flushed", dropped, "a put is answered before its flush", **power),
        sets("C-67", "INV-34.start", "start", "offset", r.entries, "the next offset counts lost records", **power),
        sets("C-68", "ACT-03.start", "start", "entries", r.entries, "entries whose records are lost stay", **power),
    ]


_TWO = "a loss of power takes two records or none"


def _controller(c: Controller) -> list[Noticed]:
    ends: dict[str, Any] = {"settings": {"crash_budget": 1}, "profile": "P533"}
    power: dict[str, Any] = {"settings": {"power_budget": 1}, "profile": "P533"}
    r = Expr("par", ("r",), c.Replica)
    stays = lambda g: g & ~c.leads(r)  # noqa: E731
    return [
        guard("C-240", "INV-06.controller AUX-70", "confirm", "had by all", dropped, "records are confirmed that a slave has not", **ends),
        guard("C-241", "INV-06.controller", "elect", "in sync", dropped, "any replica is elected", **ends),
        guard("C-242", "INV-06.controller", "acknowledge", "confirmed", dropped, "a record is acknowledged unconfirmed", **ends),
        guard("C-243", "INV-06.controller AUX-70", "ask", "caught up", dropped, "a slave is added that lacks records", **ends),
        sets("C-244", "ACT-03.controller", "copy", "confirmed", c.confirmed[c.master.get], "a slave has not what it confirms", **ends),
        sets("C-245", "ACT-03.controller", "start", "entries", c.entries[r], "entries beyond the log stay", **power),
        sets("C-246", "INV-34.controller", "append", "offset", c.offset[r], "the next offset stays as it was", **ends),
        sets("C-247", "AUX-70", "elect", "in_sync", c.in_sync, "a new master takes the SyncStateSet as it finds it", **ends),
        guard("C-248", "REA-161", "crash", "runs", stays, "no master ends", **ends),
        guard("C-249", "REA-160", "acknowledge", "appended", lambda g: g & (c.epoch > 1), "the first master acknowledges nothing", **ends),
        sets("C-769", "AUX-90", "start", "confirmed", c.length[r], "a start takes all of its log for confirmed", **power),
        guard("C-770", "AUX-91", "shrink", "has a master", dropped, "the last one leaves the SyncStateSet", **ends),
        guard("C-771", "REA-94", "power_loss", "less", lambda g: g & (c.length[r] > 1 + Expr("par", ("kept",), c.Place)), _TWO, **power),
        sets("C-250", "REA-162", "expand", "in_sync", c.in_sync, "the controller adds nobody", **ends),
    ]


def _starting(s: Starting) -> list[Noticed]:
    call = s.call
    return [
        guard("C-220", "AUX-65", "send", "runs", dropped, "a producer that does not run sends"),
        sets("C-221", "AUX-65.callback", "time_out", "call.callbacks", call.callbacks, "a callback hears nothing of the last attempt"),
        sets("C-222", "AUX-66", "refuse", "call.said", coerce("long", Said), "the length comes before all else"),
        sets("C-223", "AUX-67", "refuse_start", "life.state", coerce("START_FAILED", State), "the loser of a group is of no use"),
        guard("C-224", "AUX-67.group", "start", "free", dropped, "a group is registered twice"),
        sets("C-225", "AUX-67.template", "start", "life.template", const(0, Bool), "the template is not published"),
        guard("C-226", "AUX-68", "start", "new", dropped, "a producer starts again after a failed start"),
        sets("C-227", "AUX-68.group", "start", "life.group", coerce("none", Group), "a group is never registered", usual="violated"),
        guard("C-228", "REA-151", "start", "free", lambda c: c & (s.instance == "CREATE_JUST"), "only one producer starts"),
        sets("C-229", "REA-153", "time_out", "call.said", coerce("late", Said), "a shutdown is not noticed"),
    ]


def _dispatching(d: Dispatching) -> list[Noticed]:
    answer, none, yes = d.answer, const(0, Bool), const(1, Bool)
    plain, early = {"hooks": False}, {"early": True}
    undecided = lambda v: ite(answer.code == "undecided", answer.code, v)  # noqa: E731
    return [
        sets("C-230", "INV-04", "miss_topic", "answer.own", none, "an answer made anew has no opaque"),
        sets("C-231", "INV-05", "put", "answer.code", undecided, "the mark stays in an answer"),
        sets("C-232", "INV-56", "put", "stored", coerce("traced", Stored), "a context is made without hooks", settings=plain),
        sets("C-233", "AUX-69.decided", "refuse", "answer.ext", none, "a refusal has no extFields"),
        sets("C-234", "AUX-69.decided", "put", "answer.place", yes, "a failure names a place"),
        guard("C-235", "AUX-69.early", "check", "its time", dropped, "a broker checks before its time", settings=early),
        sets("C-236", "AUX-69.hooks", "enter", "seen.before", const(1, answer.written.type), "a hook that throws stops the others"),
        sets("C-237", "AUX-69.hooks", "put", "seen.after", const(2, answer.written.type), "hooks are called after a send in P49"),
        sets("C-238", "AUX-69", "miss_topic", "answer.ext", yes, "an answer made anew has extFields", usual="violated", settings=plain),
        guard("C-239", "REA-159", "put", "topic", lambda c: c & ~d.request.body, "only what has no body is put"),
    ]


def _sizes(z: Sizes) -> list[Noticed]:
    fit: dict[str, Any] = {"settings": {"names": False, "texts": False, "flags": False}}
    texts: dict[str, Any] = {"settings": {"names": False, "flags": False}}
    names: dict[str, Any] = {"settings": {"texts": False, "flags": False}}
    later: dict[str, Any] = {**names, "profile": "P533"}
    batch, one = z.job.kind == "batch", z.written + 1
    error = coerce("SYSTEM_ERROR", Answer)
    short = lambda v: ite(z.name > 100, coerce("unequal", v.type), v)  # noqa: E731
    plain = lambda v: rewrite(v, lambda e: z.text if e is stored_text(z, z.text) else None)  # noqa: E731
    return [
        guard("C-145", "INV-40.read INV-06.sizes", "append", "passed", dropped, "a group of any characters is taken", **later),
        sets("C-146", "INV-40.within", "append", "written", one, "a batch of two takes one place", **fit),
        sets("C-147", "INV-06.sizes", "start", "written", ite(z.written > 0, z.written - 1, 0), "a start cuts a whole record off", **fit),
        sets("C-148", "INV-36.sizes", "dispatch", "dispatched", one, "the dispatcher goes to the log's end", **fit),
        guard("C-149", "INV-07.sizes", "refuse_text", "beyond", lambda c: ~batch, "all properties are too long", **fit),
        guard("C-150", "INV-40.within", "append", "passed", dropped, "what is beyond a limit is stored"),
        sets(
            "C-151", "AUX-35", "append", "job.answer", coerce("stored", Answer), "what a sender wrote is stored", usual="violated", **texts
        ),
        sets("C-152", "REA-90", "overshoot", "dispatched", z.written, "the dispatcher stays within the log", **texts),
        sets("C-153", "AUX-36", "refuse_topic", "job.answer", error, "a topic that is too long is an error", profile="P45"),
        sets(
            "C-760",
            "INV-40.lemma",
            "append",
            "log",
            lambda v: ite(v == "unequal", coerce("new", v.type), v),
            "only a record's size is read",
        ),
        guard("C-761", "INV-40.sum", "refuse_size", "beyond", const(0, Bool), "a record may have any size"),
        sets("C-762", "AUX-37", "append", "log", short, "a reader takes no name of more than 100 bytes"),
        guard("C-763", "AUX-37.limit", "refuse_topic", "beyond", z.name > NAME_LIMIT, "a name is tested in bytes", usual="violated"),
        guard("C-764", "AUX-38", "refuse_bytes", "beyond", z.text > TEXT_LIMIT, "properties are tested without the broker's own"),
        sets("C-765", "AUX-38.batch", "append", "log", plain, "the broker adds nothing to what it stores", usual="violated"),
        sets("C-154", "REA-91 REA-93", "skip", "dispatched", z.dispatched, "the dispatcher stays where it cannot read", **names),
    ]


def _registrations(r: Registrations) -> list[Noticed]:
    n, s = Expr("par", ("n",), r.Server), Expr("par", ("s",), r.Sender)
    newer = ~r.live[n] | (r.letter[n, s].version > r.stored[n])
    first_knows = r.live[0] & (r.stored[0] == r.version)
    again, asks, wiped = {"restart": True}, {"asks": True}, {"wipe": True}
    bare: dict[str, Any] = {"profile": "P533", "settings": {"bare": True, "restart": True}}
    late: dict[str, Any] = {"profile": "P533"}
    nothing_put = ModelMutant("C-743", "a topic without a version is left out", "put", lambda u: u.target, sets="route")
    no_news = ModelMutant("C-192", "what is not known of the stored version is left out", "ignore", lambda u: u.target, sets="route")
    return [
        guard("C-185", "AUX-50", "take", "not refused", dropped, "a first registration of one topic is taken", settings=again, **late),
        guard("C-186", "AUX-51", "take", "version differs", newer, "only a newer version is taken", usual="violated"),
        guard("C-187", "AUX-53", "take", "version differs", dropped, "the stored version is taken too", settings=wiped),
        sets("C-188", "REA-123", "restart", "live", const(1, Bool), "a name server that starts again knows its brokers", settings=again),
        sets("C-189", "INV-18.stored", "update", "version", r.version, "an update is no new version"),
        guard("C-190", "LIV-01.all", "register_timer", "needed", ~(r.asks & first_knows), "the timer asks but one name server",
              settings={"asks": True, "two": True}),
        guard("C-191", "LIV-01.all", "register_timer", "needed", ~r.asks, "a timer that asks never registers", settings=asks),
        Noticed(no_news, ("LIV-01.created",), "holds", {}, "P533"),
        sets("C-193", "REA-121", "take", "stored", const(0, r.version.type), "the version is not stored"),
        guard("C-740", "AUX-81", "put", "known broker", dropped, "a topic without a version comes from whomever", **bare),
        guard("C-741", "AUX-82", "take", "with a version", dropped, "a topic without a version has the version 0", **bare),
        guard("C-742", "AUX-82", "ignore", "with a version", dropped, "a topic without a version may be known already", **bare),
        Noticed(nothing_put, ("AUX-82",), "holds", bare["settings"], "P533"),
        guard("C-744", "AUX-53", "put", "without a version", dropped, "what names a version is put too", settings=wiped, **late),
    ]  # fmt: skip


def _pair(p: MasterAndSlave) -> list[Noticed]:
    late, connected = {"lags": True}, lambda c: c & p.connected
    return [
        guard("C-194", "INV-06.pair", "confirm", "pushed", dropped, "a put is confirmed before the slave has told of it"),
        guard("C-195", "LIV-09.pair", "time_out", "not pushed", connected, "a put without a slave waits without a limit", settings=late),
        guard("C-196", "AUX-55", "copy", "behind", p.copied < p.records, "the slave makes records of its own", settings=late),
        sets("C-197", "AUX-55", "report", "pushed", p.written, "the slave tells of records that it does not have", settings=late),
        sets("C-198", "AUX-57", "lose_master", "routed", const(0, Bool), "a slave does not keep its name's routes", usual="violated"),
        sets("C-199", "INV-06.pair", "put", "acknowledged", p.written + 1, "nobody waits for the slave"),
    ]


def _delays(d: Delays) -> list[Noticed]:
    q, e = d.queue, Expr("par", ("e",), d.Entry)
    ends: dict[str, Any] = {"settings": {"end_budget": 1}, "profile": "P494"}
    power: dict[str, Any] = {"settings": {"end_budget": 1, "power": True}, "profile": "P494"}
    fails: dict[str, Any] = {"settings": {"fails": True}}
    level = Expr("par", ("level",), d.model.named("send").parameters["level"])
    return [
        sets("C-120", "INV-45.state INV-45.clamp", "send", "entry.level", level, "a level above the last stays"),
        guard("C-121", "INV-45.state", "send", "this queue", level == d.levels - 1, "the queue is the level"),
        guard("C-122", "AUX-28", "deliver", "due", dropped, "a message is delivered before its time"),
        sets("C-123", "AUX-25", "fail", "queue.next", q.next + 1, "a delivery that fails is passed over", **fails),
        sets("C-124", "AUX-27", "start", "queue.next", q.stored, "the offset that was read is not corrected", **power),
        sets("C-125", "AUX-26", "start", "queue.next", q.length, "a start goes on at the end of the queue", profile="P494"),
        sets("C-126", "AUX-30", "deliver", "queue.offset", q.next, "the entry itself is noted, not the one behind it", **ends),
        sets("C-127", "AUX-31", "deliver", "entry.place", 0 * d.entry[e].asked, "every message is delivered to queue 0"),
        sets("C-128", "AUX-29", "deliver", "queue.next", q.next, "a message that was delivered is delivered again", **fails),
        sets("C-129", "REA-72", "persist", "queue.stored", q.stored, "the table is never written", **power),
    ]


def _transactions(t: Transactions) -> list[Noticed]:
    c, rejects, gone = Expr("par", ("c",), t.Copy), {"rejects": True}, {"settings": {"connected": False}}
    rejected: dict[str, Any] = {"usual": "violated", "settings": rejects}
    tran = Expr("par", ("tran",), t.model.named("put_half").parameters["tran"])
    there, false = tran != "absent", "TRAN_MSG=false asks for a transaction"
    return [
        guard("C-130", "AUX-32.gate", "refuse", "transactional", there, false, settings=rejects),
        guard("C-131", "AUX-32.gate", "put_half", "transactional", there, false),
        guard("C-132", "AUX-32.half", "put_own", "passes", dropped, "the gate lets every message pass"),
        sets("C-133", "AUX-32.refused", "refuse", "message.topic", t.message.topic, "the refusal comes first", **rejected),
        sets(
            "C-134", "AUX-32.uncounted", "put_prepared", "message.answered", t.log.counted, "a prepared message has its queue's next offset"
        ),
        sets("C-135", "AUX-33.commit", "roll_back", "message.decided", coerce("commit", Outcome), "a rollback is taken for a commit"),
        guard("C-136", "AUX-34.asked", "ask", "its outcome", dropped, "the check does not look for operation records"),
        guard("C-137", "AUX-33", "give_up", "no asks left", const(0, Bool), "a half message is never given up", **gone),
        guard("C-138", "AUX-33.checks", "give_up", "no asks left", dropped, "a half message is discarded at its first check"),
        guard("C-139", "REA-77", "commit", "known", (c == 0) & ~t.message.delayed, "no copy can be ended but the first"),
        guard("C-140", "REA-78", "pass_over", "its outcome", t.half[c] == "noted", "a copy is passed over before its record is written"),
    ]


def _meeting(f: Meeting) -> list[Noticed]:
    delayed = {"may_delay": True}
    wanders, kept = "a delayed half message is delivered by every release", "a delayed half message is discarded by every release"
    return [
        sets("C-141", "AUX-33.delayed", "delay_deliver", "delay_halves", f.delay(f.delays.halves), kept, settings=delayed, profile="P45"),
        sets("C-142", "AUX-33.retry", "retry", "delay_entry.asked", const(HALF, f.delays.entry[0].asked.type), wanders, profile="P533"),
    ]


def _device(d: Device) -> list[Noticed]:
    fails: dict[str, Any] = {"settings": {"fails": True, "power_budget": 1, "trusts_failed_force": False}}
    pool: dict[str, Any] = {"settings": {"sync": False, "buffers": 2}}
    closes: dict[str, Any] = {"settings": {"closes": True}}
    return [
        guard("C-165", "INV-06.device", "confirm", "flushed", dropped, "a put is confirmed before its flush"),
        sets("C-166", "INV-06.device INV-06.kept", "flush_fails", "flushed", d.committed, "a failed force is trusted", **fails),
        sets("C-167", "AUX-40", "commit", "free", d.free, "a buffer never comes back", **pool),
        sets("C-168", "AUX-47", "commit", "committed", d.written + 1, "a commit goes beyond what was written", **pool),
        guard("C-169", "AUX-43", "put", "flags", dropped, "a full disk takes a record", **closes),
        sets("C-170", "AUX-44", "put_too_large", "failed", d.failed, "a put that stores nothing is not counted", **closes),
        sets("C-171", "AUX-41", "time_out", "answer", const(1, Ended), "a late put is answered PUT_OK"),
        guard("C-172", "REA-101", "reject", "no buffer", lambda c: c & (d.free > 0), "nothing is rejected", **pool),
        sets("C-173", "AUX-46", "flush", "flushed", d.written, "a flush reaches what is in a buffer", **pool),
        sets("C-174", "AUX-45", "flush", "forced", d.forced, "a flush forces nothing", **pool),
    ]


def _progress(p: ConsumerProgress) -> list[Noticed]:
    ends: dict[str, Any] = {"settings": {"sync": False, "crash_budget": 2, "stop_budget": 2}}
    flushed: dict[str, Any] = {"settings": {"power_budget": 1}, "profile": "P533"}
    return [
        guard(
            "C-175", "AUX-49.flushed AUX-49.dispatch AUX-49", "dispatch", "behind", p.entries < p.written, "all is dispatched", **flushed
        ),
        sets("C-176", "AUX-48", "begin", "place", p.entries, "a consumer starts at the queue's end", **ends),
        sets("C-177", "AUX-48", "pull", "place", p.place, "a pull does not move on"),
        sets("C-178", "AUX-48", "commit", "committed", p.entries, "a consumer commits what it was not given", **ends),
        sets("C-179", "REA-111", "commit", "committed", p.saved, "a commit is lost", settings={"sync": False}),
        sets("C-180", "AUX-49", "crash", "written", p.flushed, "an end of the process cuts the log", **ends),
        guard("C-181", "REA-109", "pull", "found", p.place < p.written, "a pull finds what has no entry", usual="violated"),
    ]


def _times(t: Times) -> list[Noticed]:
    time = Expr("par", ("time",), t.model.named("look_up").parameters["time"])
    last = maximum(within(t, time, True) - 1, 0)
    both: dict[str, Any] = {"profile": "P533"}

    def tells(id_: str, claims: str, told: Any, sentence: str, **more: Any) -> Noticed:
        return sets(id_, claims, "look_up", "told", told, sentence, **more)

    return [
        tells("C-800", "AUX-111 AUX-111.bound", last, "the lower bound is the upper one", **both),
        tells("C-801", "AUX-111.only AUX-111.bound", 0, "the queue's begin is told", **both),
        tells("C-802", "AUX-112", within(t, time, True), "the upper bound is the first message behind", **both),
        tells("C-803", "AUX-111.beside", maximum(t.records - 1, 0), "the last message is told"),
        tells("C-804", "REA-173", last, "the lower bound is the last message of its time", usual="violated", **both),
        guard(
            "C-805",
            "AUX-112.there",
            "look_up",
            "past",
            lambda g: g & (within(t, time, True) > 0),
            "nobody asks for a time before the first message",
            usual="violated",
            **both,
        ),
        sets("C-806", "REA-174", "tick", "now", t.now, "no time passes"),
        sets("C-807", "REA-174", "append", "records", 1, "a message takes the place of another"),
    ]


def _sendbacks(s: Sendbacks) -> list[Noticed]:
    m, sends, either = s.message, {"way": "sends"}, {"way": "either"}
    default = {"group_known": False, "limit": 16}
    empty, two, gone, answered = (
        {"usual": "violated", "settings": settings}
        for settings in ({"group_queues": 0}, {"group_queues": 2, "template": 0, "way": "either"}, {"in_log": False}, sends)
    )
    late, level = "retries left", Expr("par", ("level",), s.model.named("back_bury").parameters["level"])
    not_named = (m.times >= s.constant["limit"]) | (level < 0)
    delayed = const(Place.encode("delayed"), Place)
    waits_still = ite(m.delay > 0, delayed, const(Place.encode("stored"), Place))
    timeout, error = const(Answered.encode("FLUSH_DISK_TIMEOUT"), Answered), const(Answered.encode("SYSTEM_ERROR"), Answered)
    return [
        guard("M-102.back", "INV-48.rounds", "back_retry", late, m.times <= s.limit, "one retry more than the limit", settings=default),
        guard("C-100", "INV-47.states", "back_bury", "no retries left", dropped, "a message is dead before its retries"),
        sets("M-105.back", "INV-48.step LIV-06.states", "back_retry", "message.times", m.times, "a retry is not counted"),
        sets("M-104.back", "INV-49.states", "back_retry", "message.first", m.topic, "RETRY_TOPIC is set in each round", settings=either),
        sets("C-101", "INV-50.states", "back_bury", "message.origin", m.origin, "a dead letter's properties are written once"),
        sets("M-101.back", "INV-51.states", "back_no_queues", "last.answer", error, "no retry queues are an error", **empty),
        sets("M-107.back", "INV-07.flush", "back_retry", "last.answer", timeout, "a send-back is answered with the flush's status"),
        sets("M-103.back", "REA-62", "back_retry", "message.delay", const(3, m.delay.type), "the level stays 3", settings=default),
        sets("C-102", "INV-45.lemma", "back_retry", "message.delay", lambda v: ite(m.times > 15, 0, v), "after the last level comes none"),
        guard("C-103", "INV-48.lemma", "back_bury", "no retries left", not_named, "old clients name a limit, too"),
        guard("C-104", "LIV-06.lemma", "send_bury", "no retries left", m.times + 1 >= s.limit, "no retry more", profile="P533"),
        guard("C-105", "LIV-06.rounds", "send_bury", "no retries left", m.times >= s.limit - 1, "none", profile="P533", settings=sends),
        sets("M-19.retry", "AUX-24", "send_retry", "retry.flag", const(1, s.retry.flag.type), "UNIT in place of UNIT_SUB", settings=sends),
        sets("C-106", "AUX-21", "back_bury", "dead", const(3, s.dead.type), "dead letters are write-only"),
        guard("C-107", "AUX-23", "back_retry", "queue drawn", dropped, "a queue is drawn that the group does not have"),
        guard(
            "C-108", "AUX-23 LIV-06.states", "back_retry", "queue drawn", lambda c: c & _of_topic(s), "the topic has the queue", **two,
        ),
        sets("C-109", "INV-09.backs", "back_no_record", "last.made", const(0, Bool), "the record is looked for first", **gone),
        sets("C-110", "INV-44.backs", "send_bury", "last.queue", const(0, s.last.queue.type), "no queue is answered", **answered),
        sets("C-111", "AUX-22", "back_retry", "retry.queues", const(2, s.retry.queues.type), "the topic is made like the template"),
        sets("C-799", "AUX-20", "back_bury", "message.place", waits_still, "a dead letter that was given back keeps its delay level"),
        sets("C-112", "AUX-20", "send_bury", "message.place", delayed, "the delay of a dead letter stays", profile="P533", settings=sends),
    ]  # fmt: skip


def _of_topic(s: Sendbacks) -> Expr:
    q = Expr("par", ("q",), s.message.queue.type)
    return (s.retry.queues == 0) | (q < s.retry.queues)


_MADE: dict[type, Callable[[Any], list[Noticed]]] = {
    Persistence: _persistence,
    Answering: _answering,
    WaitingRequests: _waiting,
    Expiry: _expiry,
    News: _news,
    Patience: _patience,
    Flushing: _flushing,
    Recovery: _recovery,
    Sizes: _sizes,
    Delays: _delays,
    Transactions: _transactions,
    Meeting: _meeting,
    Controller: _controller,
    Starting: _starting,
    Dispatching: _dispatching,
    Registrations: _registrations,
    MasterAndSlave: _pair,
    Device: _device,
    ConsumerProgress: _progress,
    Times: _times,
    Sendbacks: _sendbacks,
}
