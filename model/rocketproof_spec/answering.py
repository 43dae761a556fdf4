"""Who answers a request, and how often: the receiving thread, fast failure, a thread of the executor, and a future's completion.

One executor with one thread and a queue. A request refused before it is submitted, or taken from the queue, is over at once; a
task answers when it ends, or hands over to a future, whose completion is a task of the same executor (REM-05 to REM-10).
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, Row, any_of, coerce, count, exists, ite

from .actors import CLIENT, ENVIRONMENT, HANDLER, SERVICE
from .part import Part

Stage = Enum(
    "new",
    "queued",  # its task waits for a thread
    "runs",  # its task has the thread
    "future",  # the task is over, the put is not
    "reply queued",  # the completion with an error answer waits for a thread
    "replies",  # that completion has the thread
    "end queued",  # the completion of a put that is answered already waits for a thread
    "ends",
    "over",
)
WAITING, RUNNING = ("queued", "reply queued", "end queued"), ("runs", "replies", "ends")


class Answering(Part):
    """So many `requests` ever come."""

    switches = ("asynchronous",)

    def __init__(self, name: str, *, requests: int = 3) -> None:
        super().__init__(name)
        m, places = self.model, Int(0, requests)
        self.Request = m.index("Request", [f"request {r}" for r in range(requests)])
        m.acting(
            self.Request, "executor", "store", "fast failure", "page cache",
            handler="executor", service="fast failure", environment="page cache",
        )  # fmt: skip
        self.asynchronous = m.constant("asynchronous", Bool, True, "the processor is asynchronous")
        self.capacity = m.constant("capacity", places, 1, "places in the executor's queue")
        self.refuses = m.constant("refuses", Bool, True, "requests may be refused before a thread serves them")
        self.future_throws = m.constant("future_throws", Bool, True, "a future may end with an exception")
        job = Record(
            stage=Field(Stage, "new", "where it stands"),
            one_way=Field(Bool, False, "whether its caller wants no answer"),
            place=Field(places, 0, "its place in the executor's queue, counted from 1; 0 if it is not there"),
            answers=Field(Int(0, 2), 0, "how often it was answered, counted up to 2"),
        )
        self.job = m.var("job", job, over=self.Request, sentence="the request")
        self.busy = m.var("busy", Bool, init=False, sentence="whether the page cache is busy", part="page cache")
        _receiving(self)
        _fast_failure(self)
        _tasks(self)


def within(row: Row, *stages: str) -> Expr:
    return any_of(row.stage == stage for stage in stages)


def _queue(v: Answering) -> Expr:
    """How many wait in the queue."""
    return count(v.Request, lambda r: v.job[r].place > 0)


def _taken(v: Answering) -> Expr:
    """Whether the thread is at work."""
    return exists(v.Request, lambda r: within(v.job[r], *RUNNING))


def _room(v: Answering) -> Expr:
    return ~_taken(v) | (_queue(v) < v.capacity)


def _become(
    v: Answering, a: Body, r: Expr, stage: Expr | str, *, place: Expr | int = 0, answered: Expr | bool = False, ends: bool = False,
    leaves: bool = False,
) -> None:  # fmt: skip
    """The request's next stage and place, and whether it is answered now.

    `ends`: the thread ends its task and takes the head of the queue. `leaves`: the head leaves the queue, the thread goes on.
    """
    for other in v.Request:
        row, this = v.job[other], r == other
        taken = ite(row.stage == "queued", coerce("runs", Stage), ite(row.stage == "reply queued", coerce("replies", Stage), "ends"))
        next_stage = ite(row.place == 1, taken, row.stage) if ends else row.stage
        next_place = ite(row.place > 0, row.place - 1, 0) if ends or leaves else row.place
        a.update(row, stage=ite(this, coerce(stage, Stage), next_stage), place=ite(this, place, next_place))
        a.set(row.answers, row.answers + 1, when=this & answered & (row.answers < 2))


def _submit(v: Answering, a: Body, r: Expr, waiting: str, running: str) -> None:
    """The executor takes a task: its thread at once if that is free, else the queue."""
    _become(v, a, r, ite(_taken(v), coerce(waiting, Stage), running), place=ite(_taken(v), _queue(v) + 1, 0))


def _submit_end(v: Answering, a: Body, r: Expr, *, answered: Expr | bool) -> None:
    """A completion that has nothing to write; nobody misses it if the executor has no room."""
    waits = _taken(v) & _room(v)
    stage = ite(_taken(v), ite(_room(v), coerce("end queued", Stage), "over"), "ends")
    _become(v, a, r, stage, place=ite(waits, _queue(v) + 1, 0), answered=answered)


def _receiving(v: Answering) -> None:
    """The receiving thread (REM-05 to REM-07)."""
    job = v.job

    def arrives(a: Body, r: Expr, one_way: Expr) -> None:
        a.by(r)
        a.sends_to("executor")
        a.guard("new", job[r].stage == "new", "the request has not come yet")
        a.set(job[r].one_way, one_way)

    def accepted(a: Body) -> None:
        a.guard("not busy", ~v.busy, "the processor takes requests")

    @v.action(actor=CLIENT, rules="REM-05", r=v.Request, one_way=Bool)
    def unknown_code(a: Body, r: Expr, one_way: Expr) -> None:
        """A request with a code that nobody serves: it is answered, even to a one-way caller."""
        arrives(a, r, one_way)
        a.guard("refuses", v.refuses, "the condition allows refusals")
        _become(v, a, r, "over", answered=True)

    @v.action(actor=CLIENT, rules="REM-06", r=v.Request, one_way=Bool)
    def reject(a: Body, r: Expr, one_way: Expr) -> None:
        """The processor rejects before a thread is asked: answered, even to a one-way caller."""
        arrives(a, r, one_way)
        a.guard("busy", v.busy, "the page cache is busy")
        _become(v, a, r, "over", answered=True)

    @v.action(actor=CLIENT, rules="REM-07", r=v.Request, one_way=Bool)
    def submit(a: Body, r: Expr, one_way: Expr) -> None:
        """The request becomes a task of the executor."""
        arrives(a, r, one_way)
        accepted(a)
        a.guard("room", _room(v), "the thread is free, or the queue has a place")
        _submit(v, a, r, "queued", "runs")

    @v.action(actor=CLIENT, rules="REM-07", r=v.Request, one_way=Bool)
    def overload(a: Body, r: Expr, one_way: Expr) -> None:
        """The queue is full: answered, but not to a one-way caller."""
        arrives(a, r, one_way)
        accepted(a)
        a.guard("full", ~_room(v), "the thread is at work and the queue is full")
        _become(v, a, r, "over", answered=~one_way)


def _fast_failure(v: Answering) -> None:
    """The page cache, and who cleans the queue meanwhile (REM-10)."""
    job = v.job

    @v.action(actor=ENVIRONMENT, rules="STO-03")
    def turn_busy(a: Body) -> None:
        """The page cache becomes busy."""
        a.guard("refuses", v.refuses, "the condition allows refusals")
        a.guard("not busy", ~v.busy, "the page cache is not busy")
        a.set(v.busy, True)

    @v.action(actor=ENVIRONMENT, rules="STO-03", fair="weak")
    def turn_free(a: Body) -> None:
        """The page cache is no longer busy."""
        a.guard("busy", v.busy, "the page cache is busy")
        a.set(v.busy, False)

    @v.action(actor=SERVICE, part="fast failure", rules="REM-10", r=v.Request)
    def clean(a: Body, r: Expr) -> None:
        """Fast failure takes the head of the queue, because it is too old or the page cache busy, and answers it, one-way or not."""
        a.sends_to(r)
        row = job[r]
        a.guard("refuses", v.refuses, "the condition allows refusals")
        a.guard("head", row.place == 1, "it is the head of the queue")
        a.guard("a request", row.stage == "queued", "it is a request's task, and no completion")
        _become(v, a, r, "over", answered=True, leaves=True)


def _tasks(v: Answering) -> None:
    """What a thread does, and what comes after it (REM-08, REM-09)."""
    job = v.job
    later = v.asynchronous

    def running(a: Body, r: Expr, stage: str, sentence: str) -> Row:
        row = job[r]
        a.by("executor")
        a.guard("its thread", row.stage == stage, sentence)
        return row

    @v.action(actor=HANDLER, rules="REM-08", fair="weak", r=v.Request)
    def respond(a: Body, r: Expr) -> None:
        """The task of a synchronous processor ends with its answer."""
        a.sends_to(r)
        row = running(a, r, "runs", "the request's task has the thread")
        a.guard("synchronous", ~later, "the processor is synchronous")
        _become(v, a, r, "over", answered=~row.one_way, ends=True)

    @v.action(actor=HANDLER, rules="REM-08", r=v.Request)
    def throw(a: Body, r: Expr) -> None:
        """The task throws: the exception is the answer."""
        a.sends_to(r)
        row = running(a, r, "runs", "the request's task has the thread")
        _become(v, a, r, "over", answered=~row.one_way, ends=True)

    @v.action(actor=HANDLER, rules="REM-09 SEND-07", fair="weak", r=v.Request)
    def hand_over(a: Body, r: Expr) -> None:
        """An asynchronous processor gives a future, and the thread is free."""
        running(a, r, "runs", "the request's task has the thread")
        a.guard("asynchronous", later, "the processor is asynchronous")
        _become(v, a, r, "future", ends=True)

    def finished(a: Body, r: Expr) -> Row:
        row = job[r]
        a.by("store")
        a.guard("asynchronous", later, "the processor is asynchronous")
        a.guard("future", row.stage == "future", "the request's future is not finished")
        return row

    @v.action(actor=HANDLER, rules="SEND-42 REM-09", fair="weak", r=v.Request)
    def put(a: Body, r: Expr) -> None:
        """The put succeeds: whoever finished it writes the answer, and the completion has nothing left to do."""
        a.sends_to(r)
        row = finished(a, r)
        _submit_end(v, a, r, answered=~row.one_way)

    @v.action(actor=HANDLER, sends_to="executor", rules="REM-09 SEND-44", r=v.Request)
    def put_fails(a: Body, r: Expr) -> None:
        """The put fails: the completion, a task of the same executor, is to write the answer."""
        finished(a, r)
        a.guard("room", _room(v), "the thread is free, or the queue has a place")
        _submit(v, a, r, "reply queued", "replies")

    @v.action(actor=HANDLER, rules="REM-09", r=v.Request)
    def completion_rejected(a: Body, r: Expr) -> None:
        """The put fails and the executor has no place for the completion: the answer is lost (HAZ-25)."""
        finished(a, r)
        a.guard("full", ~_room(v), "the thread is at work and the queue is full")
        _become(v, a, r, "over")

    @v.action(actor=HANDLER, rules="REM-09", r=v.Request)
    def future_throws(a: Body, r: Expr) -> None:
        """An exception in the future: nobody answers (HAZ-24)."""
        finished(a, r)
        a.guard("may throw", v.future_throws, "the condition allows an exception there")
        _submit_end(v, a, r, answered=False)

    @v.action(actor=HANDLER, rules="REM-09", fair="weak", r=v.Request)
    def reply(a: Body, r: Expr) -> None:
        """The completion writes the error answer."""
        a.sends_to(r)
        row = running(a, r, "replies", "the completion has the thread")
        a.guard("asynchronous", later, "the processor is asynchronous")
        _become(v, a, r, "over", answered=~row.one_way, ends=True)

    @v.action(actor=HANDLER, rules="REM-09 SEND-42", fair="weak", r=v.Request)
    def end(a: Body, r: Expr) -> None:
        """The completion of an answered put, or of a future with an exception, has nothing to write."""
        running(a, r, "ends", "the completion has the thread")
        a.guard("asynchronous", later, "the processor is asynchronous")
        _become(v, a, r, "over", ends=True)
