"""How a send frame becomes a processor's call, and that an answer (SEND-01 to SEND-13, SEND-21, SEND-42 to SEND-46, REM-02, REM-04).

One request, a topic that an administrator may delete meanwhile, and two hooks. Who answers, and how often, is decided by threads in
`answering`; here it is what an answer carries. What is checked, and what a message that comes back goes through, is left out.
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
    """One request."""

    switches = ("asynchronous", "after_hooks", "always_traced", "null_fields")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        m = self.model
        m.acting("client", "broker", "administrator", client="client", handler="broker", administrator="administrator")
        self.asynchronous = m.constant("asynchronous", Bool, False, "behind the put all is in a future")
        self.after_hooks = m.constant("after_hooks", Bool, False, "hooks are called after a send too")
        self.always_traced = m.constant("always_traced", Bool, False, "what hooks see is made without hooks too")
        self.null_fields = m.constant("null_fields", Bool, False, "a missing field is read as null")
        self.hooks = m.constant("hooks", Bool, True, "send hooks are registered")
        self.early = m.constant("early", Bool, False, "the broker's time has not come")
        request = Record(
            kind=Field(Kind, "send", "what its code asks for"),
            one_way=Field(Bool, False, "whether nobody waits"),
            batch=Field(Bool, False, "whether its header says batch"),
            whole=Field(Bool, True, "whether no field is missing"),
            body=Field(Bool, True, "whether it has a body"),
            step=Field(Step, "none", "where it stands"),
        )
        answer = Record(
            code=Field(Code, "none", "its code"),
            own=Field(Bool, False, "whether it has the request's opaque"),
            ext=Field(Bool, False, "whether it names region and trace switch"),
            place=Field(Bool, False, "whether it names the message's place"),
            written=Field(Int(0, 2), 0, "how often it was written"),
        )
        seen = Record(
            before=Field(Int(0, HOOKS), 0, "hooks called before"),
            stats=Field(Stats, "none", "what they see of the end"),
            after=Field(Int(0, HOOKS), 0, "hooks called after"),
        )
        self.request = m.var("request", request, sentence="the request")
        self.answer = m.var("answer", answer, sentence="the answer")
        self.seen = m.var("seen", seen, sentence="what hooks are told")
        self.stored = m.var("stored", Stored, init="nothing", sentence="what is stored, with what hooks see or without, or a batch's items")
        self.topic = m.var("topic", Bool, init=True, sentence="whether the topic is there")
        _actions(self)


def traced(d: Dispatching) -> Expr:
    """A context for hooks is made (SEND-03)."""
    return d.hooks | d.always_traced


def _actions(d: Dispatching) -> None:
    request, answer = d.request, d.answer
    unread = ~request.whole | (d.always_traced & ~request.body)

    def stands(a: Body, step: str, sentence: str) -> None:
        a.guard(step, request.step == step, sentence)

    def received(a: Body, kind: str) -> None:
        stands(a, "received", "the request waits for its processor")
        a.guard(kind, request.kind == kind, f"its code asks for {kind}")

    def ends(a: Body, code: Expr | str, ext: Expr | bool, written: Expr | bool = True, place: Expr | bool = False) -> None:
        """The answer is written unless nobody waits; one that is made of an exception is a new one (REM-02, REM-08)."""
        a.sends_to("client")
        heard = ~request.one_way & written
        a.set(request.step, "over")
        a.update(answer, code=ite(heard, coerce(code, Code), "none"), own=heard, ext=heard & ext, place=heard & place)
        a.set(answer.written, answer.written + 1, when=heard & (answer.written < 2))

    def told(a: Body, stats: Expr | str, when: Expr | bool = True) -> None:
        a.set(d.seen.stats, stats, when=d.hooks & when)
        a.set(d.seen.after, HOOKS, when=d.hooks & d.after_hooks & when)

    @d.action(actor=CLIENT, sends_to="broker", rules="REM-12", kind=Kind, one_way=Bool, batch=Bool, whole=Bool, body=Bool)
    def receive(a: Body, kind: Expr, one_way: Expr, batch: Expr, whole: Expr, body: Expr) -> None:
        """A request arrives; a flag says whether somebody waits for its answer."""
        stands(a, "none", "there is no request yet")
        a.guard(
            "a header", ((kind == "send") & (~batch | body)) | (~batch & whole & body), "only a send has such a header, and a batch a body"
        )
        a.bound("known field", whole | ~d.null_fields, "no null is read where a field is missing")
        a.update(request, kind=kind, one_way=one_way, batch=batch, whole=whole, body=body, step="received")

    @d.action(actor=HANDLER, rules="SEND-01")
    def give_back(a: Body) -> None:
        """A message that comes back goes its own way, past the hooks, and its answer names neither region nor trace switch."""
        received(a, "send back")
        ends(a, "refused", False)

    @d.action(actor=HANDLER, rules="SEND-02")
    def pass_over(a: Body) -> None:
        """A code without a send header is answered with nothing."""
        received(a, "no header")
        a.set(request.step, "over")

    @d.action(actor=HANDLER, rules="REM-02 REM-04 REM-08")
    def fail_to_read(a: Body) -> None:
        """A field is missing, or a context is made of a request without a body: the answer is a new one, with the exception."""
        received(a, "send")
        a.guard("unread", unread, "something is missing")
        ends(a, "exception", False)

    @d.action(actor=HANDLER, rules="SEND-03 SEND-04 REM-04", throws=Bool)
    def enter(a: Body, throws: Expr) -> None:
        """The header is read, and all hooks see it, whatever the first one throws."""
        received(a, "send")
        a.guard("read", ~unread, "nothing is missing")
        a.guard("a hook", d.hooks | ~throws, "there is a hook that may throw")
        a.set(d.seen.before, HOOKS, when=d.hooks)
        a.set(request.step, "entered")

    @d.action(actor=HANDLER, rules="SEND-10 SEND-11 SEND-12 SEND-46 SEND-06")
    def refuse(a: Body) -> None:
        """The answer is made, and says that it is too early, before anything is checked; or a check refuses."""
        stands(a, "entered", "the header is read")
        ends(a, ite(d.early, coerce("too early", Code), "refused"), True)
        told(a, "none")

    @d.action(actor=HANDLER, rules="SEND-10 SEND-11 SEND-12 SEND-13")
    def check(a: Body) -> None:
        """The checks leave the answer undecided, with the mark -1."""
        stands(a, "entered", "the header is read")
        a.guard("its time", ~d.early, "the broker's time has come")
        a.guard("topic", d.topic, "the topic is there")
        a.update(answer, code="undecided", own=True, ext=True)
        a.set(request.step, "checked")

    @d.action(actor=ADMINISTRATOR, rules="TCM-31")
    def delete_topic(a: Body) -> None:
        """An administrator deletes the topic while the request is under way."""
        stands(a, "checked", "the request has passed the checks")
        a.guard("topic", d.topic, "the topic is there")
        a.set(d.topic, False)

    @d.action(actor=HANDLER, rules="REM-02 REM-08 SEND-21")
    def miss_topic(a: Body) -> None:
        """The topic was there when it was checked, and is gone when it is used: an exception, and a new answer (HAZ-18)."""
        stands(a, "checked", "the request has passed the checks")
        a.guard("topic gone", ~d.topic, "the topic is gone")
        ends(a, "exception", False)

    @d.action(actor=HANDLER, rules="SEND-05 SEND-06 SEND-42 SEND-43 SEND-44 SEND-45 SEND-46 REM-09", well=Bool)
    def put(a: Body, well: Expr) -> None:
        """A message or a batch is stored, with what hooks have seen of it, or not. Hooks are told which, of a failure with the body's size:
        without a body it ends in an exception, which in a future nobody answers (HAZ-24)."""
        stands(a, "checked", "the request has passed the checks")
        a.guard("topic", d.topic, "the topic is there")
        thrown = ~well & traced(d) & ~request.body
        one = ite(traced(d), coerce("traced", Stored), "plain")
        a.set(d.stored, ite(request.batch, coerce("items", Stored), one), when=well)
        code = ite(well, coerce("SUCCESS", Code), ite(thrown, coerce("exception", Code), "not stored"))
        ends(a, code, ~thrown, ~(thrown & d.asynchronous), well)
        told(a, ite(well, coerce("SEND_SUCCESS", Stats), "SEND_FAILURE"), ~thrown)
