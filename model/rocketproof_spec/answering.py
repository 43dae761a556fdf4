"""Which thread answers a request, and how often: the receiving thread, fast failure, the executor, or the completion of a future.

The executor has one thread and a queue. A request that is refused before submission, or removed from the queue, is over at once. A task
answers when it ends, or hands over to a future. The completion of that future is a task of the same executor (REM-05 to REM-10).
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, Row, any_of, coerce, count, exists, ite

from .actors import CLIENT, ENVIRONMENT, HANDLER, SERVICE
from .part import Part

Stage = Enum(
    "new",
    "queued",  # its task waits for the thread
    "runs",  # its task runs
    "future",  # the task has ended, the put has not
    "reply queued",  # the completion with an error answer waits for the thread
    "replies",  # that completion runs
    "end queued",  # the completion of an answered put waits for the thread
    "ends",
    "over",
)
WAITING, RUNNING = ("queued", "reply queued", "end queued"), ("runs", "replies", "ends")


class Answering(Part):
    """`requests` requests, one executor with one thread, and a page cache that may be busy."""

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
            stage=Field(Stage, "new", "its stage"),
            one_way=Field(Bool, False, "whether its caller wants no answer"),
            place=Field(places, 0, "its place in the executor's queue, counted from 1; 0 if it is not there"),
            answers=Field(Int(0, 2), 0, "how often it was answered, counted up to 2"),
        )
        self.job = m.var("job", job, over=self.Request, sentence="the request")
        self.busy = m.var("busy", Bool, init=False, sentence="whether the page cache is busy", part="page cache")
        _receiving(self)
        _fast_failure(self)
        _tasks(self)
        _futures(self)


def within(row: Row, *stages: str) -> Expr:
    return any_of(row.stage == stage for stage in stages)


def _queue(v: Answering) -> Expr:
    return count(v.Request, lambda r: v.job[r].place > 0)


def _thread_is_busy(v: Answering) -> Expr:
    return exists(v.Request, lambda r: within(v.job[r], *RUNNING))


def _has_room(v: Answering) -> Expr:
    return ~_thread_is_busy(v) | (_queue(v) < v.capacity)


def _become(
    v: Answering, a: Body, r: Expr, stage: Expr | str, *, place: Expr | int = 0, answered: Expr | bool = False, ends: bool = False,
    leaves: bool = False,
) -> None:  # fmt: skip
    """Set the request's stage and place, and count an answer if it is `answered`.

    `ends`: the thread ends its task and takes the head of the queue. `leaves`: the head leaves the queue, and the thread continues.
    """
    for other in v.Request:
        row, this = v.job[other], r == other
        stage_of_head = ite(
            row.stage == "queued", coerce("runs", Stage), ite(row.stage == "reply queued", coerce("replies", Stage), "ends")
        )
        next_stage = ite(row.place == 1, stage_of_head, row.stage) if ends else row.stage
        next_place = ite(row.place > 0, row.place - 1, 0) if ends or leaves else row.place
        a.update(row, stage=ite(this, coerce(stage, Stage), next_stage), place=ite(this, place, next_place))
        a.set(row.answers, row.answers + 1, when=this & answered & (row.answers < 2))


def _submit(v: Answering, a: Body, r: Expr, waiting: str, running: str) -> None:
    """Give the executor a task: its thread runs the task at once if it is free, otherwise the task is queued."""
    _become(v, a, r, ite(_thread_is_busy(v), coerce(waiting, Stage), running), place=ite(_thread_is_busy(v), _queue(v) + 1, 0))


def _submit_end(v: Answering, a: Body, r: Expr, *, answered: Expr | bool) -> None:
    """Submit a completion that writes nothing. It is dropped without effect if the executor has no room."""
    waits = _thread_is_busy(v) & _has_room(v)
    stage = ite(_thread_is_busy(v), ite(_has_room(v), coerce("end queued", Stage), "over"), "ends")
    _become(v, a, r, stage, place=ite(waits, _queue(v) + 1, 0), answered=answered)


def _receiving(v: Answering) -> None:
    """The receiving thread (REM-05 to REM-07)."""
    job = v.job

    def arrives(a: Body, r: Expr, one_way: Expr) -> None:
        a.by(r)
        a.sends_to("executor")
        a.guard("new", job[r].stage == "new", "the request has not arrived yet")
        a.set(job[r].one_way, one_way)

    def accepted(a: Body) -> None:
        a.guard("not busy", ~v.busy, "the processor takes requests")

    @v.action(actor=CLIENT, rules="REM-05", r=v.Request, one_way=Bool)
    def unknown_code(a: Body, r: Expr, one_way: Expr) -> None:
        """A request with an unknown code is answered, even if it is one-way."""
        arrives(a, r, one_way)
        a.guard("refuses", v.refuses, "the condition allows refusals")
        _become(v, a, r, "over", answered=True)

    @v.action(actor=CLIENT, rules="REM-06", r=v.Request, one_way=Bool)
    def reject(a: Body, r: Expr, one_way: Expr) -> None:
        """The processor rejects the request before it is submitted. The request is answered, even if it is one-way."""
        arrives(a, r, one_way)
        a.guard("busy", v.busy, "the page cache is busy")
        _become(v, a, r, "over", answered=True)

    @v.action(actor=CLIENT, rules="REM-07", r=v.Request, one_way=Bool)
    def submit(a: Body, r: Expr, one_way: Expr) -> None:
        """The request becomes a task of the executor."""
        arrives(a, r, one_way)
        accepted(a)
        a.guard("room", _has_room(v), "the thread is free, or the queue has a place")
        _submit(v, a, r, "queued", "runs")

    @v.action(actor=CLIENT, rules="REM-07", r=v.Request, one_way=Bool)
    def overload(a: Body, r: Expr, one_way: Expr) -> None:
        """The queue is full: the request is answered unless it is one-way."""
        arrives(a, r, one_way)
        accepted(a)
        a.guard("full", ~_has_room(v), "the thread is busy and the queue is full")
        _become(v, a, r, "over", answered=~one_way)


def _fast_failure(v: Answering) -> None:
    """The page cache, and fast failure, which removes requests from the queue (REM-10)."""
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
        """Fast failure removes the head of the queue and answers it, even if it is one-way: it is too old, or the page cache is busy."""
        a.sends_to(r)
        row = job[r]
        a.guard("refuses", v.refuses, "the condition allows refusals")
        a.guard("head", row.place == 1, "it is the head of the queue")
        a.guard("a request", row.stage == "queued", "it is the task of a request, not a completion")
        _become(v, a, r, "over", answered=True, leaves=True)


def _running(v: Answering, a: Body, r: Expr, stage: str, sentence: str) -> Row:
    row = v.job[r]
    a.by("executor")
    a.guard("its thread", row.stage == stage, sentence)
    return row


def _tasks(v: Answering) -> None:
    """The tasks of the executor's thread (REM-08, REM-09)."""
    later = v.asynchronous

    @v.action(actor=HANDLER, rules="REM-08", fair="weak", r=v.Request)
    def respond(a: Body, r: Expr) -> None:
        """The task of a synchronous processor ends with its answer."""
        a.sends_to(r)
        row = _running(v, a, r, "runs", "the request's task runs")
        a.guard("synchronous", ~later, "the processor is synchronous")
        _become(v, a, r, "over", answered=~row.one_way, ends=True)

    @v.action(actor=HANDLER, rules="REM-08", r=v.Request)
    def throw(a: Body, r: Expr) -> None:
        """The task throws: the exception is the answer."""
        a.sends_to(r)
        row = _running(v, a, r, "runs", "the request's task runs")
        _become(v, a, r, "over", answered=~row.one_way, ends=True)

    @v.action(actor=HANDLER, rules="REM-09 SEND-07", fair="weak", r=v.Request)
    def hand_over(a: Body, r: Expr) -> None:
        """An asynchronous processor returns a future, and the thread is free."""
        _running(v, a, r, "runs", "the request's task runs")
        a.guard("asynchronous", later, "the processor is asynchronous")
        _become(v, a, r, "future", ends=True)


def _futures(v: Answering) -> None:
    """The puts of an asynchronous processor, and their completions (REM-09)."""
    job, later = v.job, v.asynchronous

    def finished(a: Body, r: Expr) -> Row:
        row = job[r]
        a.by("store")
        a.guard("asynchronous", later, "the processor is asynchronous")
        a.guard("future", row.stage == "future", "the request's future is not finished")
        return row

    @v.action(actor=HANDLER, rules="SEND-42 REM-09", fair="weak", r=v.Request)
    def put(a: Body, r: Expr) -> None:
        """The put succeeds: the thread that finished it writes the answer, and the completion has nothing left to do."""
        a.sends_to(r)
        row = finished(a, r)
        _submit_end(v, a, r, answered=~row.one_way)

    @v.action(actor=HANDLER, sends_to="executor", rules="REM-09 SEND-44", r=v.Request)
    def put_fails(a: Body, r: Expr) -> None:
        """The put fails: the completion, a task of the same executor, will write the answer."""
        finished(a, r)
        a.guard("room", _has_room(v), "the thread is free, or the queue has a place")
        _submit(v, a, r, "reply queued", "replies")

    @v.action(actor=HANDLER, rules="REM-09", r=v.Request)
    def completion_rejected(a: Body, r: Expr) -> None:
        """The put fails and the executor has no room for the completion: the answer is lost (HAZ-25)."""
        finished(a, r)
        a.guard("full", ~_has_room(v), "the thread is busy and the queue is full")
        _become(v, a, r, "over")

    @v.action(actor=HANDLER, rules="REM-09", r=v.Request)
    def future_throws(a: Body, r: Expr) -> None:
        """The future ends with an exception: the request is never answered (HAZ-24)."""
        finished(a, r)
        a.guard("may throw", v.future_throws, "the condition allows an exception there")
        _submit_end(v, a, r, answered=False)

    @v.action(actor=HANDLER, rules="REM-09", fair="weak", r=v.Request)
    def reply(a: Body, r: Expr) -> None:
        """The completion writes the error answer."""
        a.sends_to(r)
        row = _running(v, a, r, "replies", "the completion runs")
        a.guard("asynchronous", later, "the processor is asynchronous")
        _become(v, a, r, "over", answered=~row.one_way, ends=True)

    @v.action(actor=HANDLER, rules="REM-09 SEND-42", fair="weak", r=v.Request)
    def end(a: Body, r: Expr) -> None:
        """The completion of an answered put, or of a future with an exception, has nothing to write."""
        _running(v, a, r, "ends", "the completion runs")
        a.guard("asynchronous", later, "the processor is asynchronous")
        _become(v, a, r, "over", ends=True)
