"""How a send frame becomes a call of the processor and then an answer.

Rules: SEND-01 to SEND-13, SEND-21, SEND-42 to SEND-46, REM-02, REM-04. The model has one request, a topic that an administrator may delete
while the request runs, and two hooks. `answering` decides which thread answers and how often; this model decides the content of the answer.
The individual checks and the processing of send-backs are not modelled.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, coerce, ite

from .actors import ADMINISTRATOR, CLIENT, HANDLER
from .part import Part

Kind = Enum("send", "send back", "no header")
Step = Enum("none", "received", "entered", "checked", "over")
Code = Enum("none", "undecided", "SUCCESS", "too early", "refused", "not stored", "exception")
Stored = Enum("nothing", "plain", "traced", "items")
Stats = Enum("none", "SEND_SUCCESS", "SEND_FAILURE")
HOOKS = 2


class Dispatching(Part):
    """One request, its answer, and the calls of two hooks."""

    switches = ("asynchronous", "after_hooks", "always_traced", "null_fields")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        m = self.model
        m.acting("client", "broker", "administrator", client="client", handler="broker", administrator="administrator")
        self.asynchronous = m.constant("asynchronous", Bool, False, "everything after the put runs in a future")
        self.after_hooks = m.constant("after_hooks", Bool, False, "hooks are called after a send too")
        self.always_traced = m.constant("always_traced", Bool, False, "the context for hooks is made even without hooks")
        self.null_fields = m.constant("null_fields", Bool, False, "a missing field is read as null")
        self.hooks = m.constant("hooks", Bool, True, "send hooks are registered")
        self.early = m.constant("early", Bool, False, "the broker does not accept requests yet")
        request = Record(
            kind=Field(Kind, "send", "the kind of its code"),
            one_way=Field(Bool, False, "whether its caller wants no answer"),
            batch=Field(Bool, False, "whether its header marks it as a batch"),
            whole=Field(Bool, True, "whether no field is missing"),
            body=Field(Bool, True, "whether it has a body"),
            step=Field(Step, "none", "its stage"),
        )
        answer = Record(
            code=Field(Code, "none", "its code"),
            own=Field(Bool, False, "whether it has the request's opaque"),
            ext=Field(Bool, False, "whether it has the region and the trace switch"),
            place=Field(Bool, False, "whether it has the position of the message"),
            written=Field(Int(0, 2), 0, "how often it was written"),
        )
        seen = Record(
            before=Field(Int(0, HOOKS), 0, "hooks called before"),
            stats=Field(Stats, "none", "the result that they see"),
            after=Field(Int(0, HOOKS), 0, "hooks called after"),
        )
        self.request = m.var("request", request, sentence="the request")
        self.answer = m.var("answer", answer, sentence="the answer")
        self.seen = m.var("seen", seen, sentence="the calls of hooks")
        self.stored = m.var(
            "stored", Stored, init="nothing", sentence="what is stored: a message with or without a hook context, or a batch's items"
        )
        self.topic = m.var("topic", Bool, init=True, sentence="whether the topic exists")
        _actions(self)


def traced(d: Dispatching) -> Expr:
    """Whether a context for hooks is made (SEND-03)."""
    return d.hooks | d.always_traced


def _actions(d: Dispatching) -> None:
    request, answer = d.request, d.answer
    unreadable = ~request.whole | (d.always_traced & ~request.body)

    def at_step(a: Body, step: str, sentence: str) -> None:
        a.guard(step, request.step == step, sentence)

    def received(a: Body, kind: str) -> None:
        at_step(a, "received", "the request waits for its processor")
        a.guard(kind, request.kind == kind, f"its code asks for {kind}")

    def ends(a: Body, code: Expr | str, ext: Expr | bool, written: Expr | bool = True, place: Expr | bool = False) -> None:
        """The answer is written unless the request is one-way. An answer to an exception is a new response (REM-02, REM-08)."""
        a.sends_to("client")
        answered = ~request.one_way & written
        a.set(request.step, "over")
        a.update(answer, code=ite(answered, coerce(code, Code), "none"), own=answered, ext=answered & ext, place=answered & place)
        a.set(answer.written, answer.written + 1, when=answered & (answer.written < 2))

    def notify_hooks(a: Body, stats: Expr | str, when: Expr | bool = True) -> None:
        a.set(d.seen.stats, stats, when=d.hooks & when)
        a.set(d.seen.after, HOOKS, when=d.hooks & d.after_hooks & when)

    @d.action(actor=CLIENT, sends_to="broker", rules="REM-12", kind=Kind, one_way=Bool, batch=Bool, whole=Bool, body=Bool)
    def receive(a: Body, kind: Expr, one_way: Expr, batch: Expr, whole: Expr, body: Expr) -> None:
        """A request arrives. A flag states whether its caller waits for an answer."""
        at_step(a, "none", "there is no request yet")
        a.guard(
            "a header",
            ((kind == "send") & (~batch | body)) | (~batch & whole & body),
            "only a send may lack fields or a body, or be a batch, and a batch has a body",
        )
        a.bound("known field", whole | ~d.null_fields, "no missing field is read as null")
        a.update(request, kind=kind, one_way=one_way, batch=batch, whole=whole, body=body, step="received")

    @d.action(actor=HANDLER, rules="SEND-01")
    def give_back(a: Body) -> None:
        """A send-back bypasses the hooks. Its answer has neither region nor trace switch."""
        received(a, "send back")
        ends(a, "refused", False)

    @d.action(actor=HANDLER, rules="SEND-02")
    def pass_over(a: Body) -> None:
        """A request whose code has no send header gets no answer."""
        received(a, "no header")
        a.set(request.step, "over")

    @d.action(actor=HANDLER, rules="REM-02 REM-04 REM-08")
    def fail_to_read(a: Body) -> None:
        """A field is missing, or the context of a request without a body is made: the answer is a new response with the exception."""
        received(a, "send")
        a.guard("unread", unreadable, "a field or the body is missing")
        ends(a, "exception", False)

    @d.action(actor=HANDLER, rules="SEND-03 SEND-04 REM-04", throws=Bool)
    def enter(a: Body, throws: Expr) -> None:
        """The header is read, and all hooks are called, even if the first one throws."""
        received(a, "send")
        a.guard("read", ~unreadable, "no field or body is missing")
        a.guard("a hook", d.hooks | ~throws, "a hook is registered, or none throws")
        a.set(d.seen.before, HOOKS, when=d.hooks)
        a.set(request.step, "entered")

    @d.action(actor=HANDLER, rules="SEND-10 SEND-11 SEND-12 SEND-46 SEND-06")
    def refuse(a: Body) -> None:
        """The request is refused: the broker does not accept requests yet, or a check fails."""
        at_step(a, "entered", "the header is read")
        ends(a, ite(d.early, coerce("too early", Code), "refused"), True)
        notify_hooks(a, "none")

    @d.action(actor=HANDLER, rules="SEND-10 SEND-11 SEND-12 SEND-13")
    def check(a: Body) -> None:
        """All checks pass. The answer's code is still undecided (-1)."""
        at_step(a, "entered", "the header is read")
        a.guard("its time", ~d.early, "the broker accepts requests")
        a.guard("topic", d.topic, "the topic exists")
        a.update(answer, code="undecided", own=True, ext=True)
        a.set(request.step, "checked")

    @d.action(actor=ADMINISTRATOR, rules="TCM-31")
    def delete_topic(a: Body) -> None:
        """An administrator deletes the topic while the request is being processed."""
        at_step(a, "checked", "the request has passed the checks")
        a.guard("topic", d.topic, "the topic exists")
        a.set(d.topic, False)

    @d.action(actor=HANDLER, rules="REM-02 REM-08 SEND-21")
    def miss_topic(a: Body) -> None:
        """The topic existed when it was checked, but is deleted when it is used: an exception, and a new response (HAZ-18)."""
        at_step(a, "checked", "the request has passed the checks")
        a.guard("topic gone", ~d.topic, "the topic is deleted")
        ends(a, "exception", False)

    @d.action(actor=HANDLER, rules="SEND-05 SEND-06 SEND-42 SEND-43 SEND-44 SEND-45 SEND-46 REM-09", well=Bool)
    def put(a: Body, well: Expr) -> None:
        """A message or a batch is stored, with the hook context if there is one, or the put fails. Hooks are called with the result. After
        a failed put they need the body's size: without a body an exception follows, and in a future the request is never answered
        (HAZ-24)."""
        at_step(a, "checked", "the request has passed the checks")
        a.guard("topic", d.topic, "the topic exists")
        thrown = ~well & traced(d) & ~request.body
        message = ite(traced(d), coerce("traced", Stored), "plain")
        a.set(d.stored, ite(request.batch, coerce("items", Stored), message), when=well)
        code = ite(well, coerce("SUCCESS", Code), ite(thrown, coerce("exception", Code), "not stored"))
        ends(a, code, ~thrown, ~(thrown & d.asynchronous), well)
        notify_hooks(a, ite(well, coerce("SEND_SUCCESS", Stats), "SEND_FAILURE"), ~thrown)
