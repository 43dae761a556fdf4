"""The topic table's file: the content that string2File leaves when the process crashes, the disk is full or the power fails.

The model has one broker, its table in memory, and three files. A file holds a set of topics or nothing, because the table is written as a
whole. Persist takes the same steps as on disk. A write takes three steps (truncated, half, whole), and a phase is named after the last
step. Only the parts of the broker that persist and load can observe are modelled (PER-01 to PER-08). Releases that overwrite the main file
in place have no temporary file, and neither delete nor rename (PER-10).
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, Row, SetOf, any_of, coerce, const, ite, single

from .actors import CLIENT, ENVIRONMENT, HANDLER, SERVICE
from .part import Part

Text = Enum("missing", "empty", "broken", "whole")
Life = Enum("runs", "down", "refused")
Fate = Enum("kept", "emptied", "broken")
Phase = Enum(
    "idle",
    "begun",
    "tmp truncated",
    "tmp half",
    "tmp written",
    "bak truncated",
    "bak half",
    "bak written",
    "main deleted",
    "main truncated",
    "main half",
)
WRITING = ("begun", "tmp truncated", "tmp half", "bak truncated", "bak half", "main truncated", "main half")


class Persistence(Part):
    """`topics` topics; the first is in the file of an earlier run; and up to `faults` faults of each kind."""

    switches = ("overwrites_in_place",)

    def __init__(self, name: str, *, topics: int = 3, faults: int = 2) -> None:
        super().__init__(name)
        m, budget = self.model, Int(0, faults)
        self.Topic = m.index("Topic", [f"topic {t}" for t in range(topics)])
        m.acting("client", "broker", "disk", "name server", client="client", handler="broker", service="broker", environment="broker")
        self.earlier = m.constant("earlier", Bool, True, "there is a file from an earlier run")
        self.timer = m.constant("timer", Bool, True, "the periodic registration waits for no persist")
        self.overwrites_in_place = m.constant("overwrites_in_place", Bool, False, "the release overwrites the main file in place")
        self.crash_budget = m.constant("crash_budget", budget, 0, "how many crashes the run may have")
        self.error_budget = m.constant("error_budget", budget, 0, "how many errors of the disk the run may have")
        self.power_budget = m.constant("power_budget", budget, 0, "how many losses of power the run may have")
        self.topics = some = SetOf(self.Topic)
        content = Record(text=Field(Text, "missing", "its content"), topics=Field(some, frozenset(), "the topics in it"))
        existing = content(text="whole", topics=frozenset({0}))
        first = ite(self.earlier, existing.topics, content.start.topics)
        self.life = m.var("life", Life, init="runs", sentence="whether the broker runs", part="broker")
        self.phase = m.var("phase", Phase, init="idle", sentence="the last step of persist that was done", part="broker")
        self.memory = m.var("memory", some, init=first, sentence="the topics in the broker's table", part="broker")
        self.main = m.var("main", content, init=ite(self.earlier, existing, content.start), sentence="the topic table's file", part="disk")
        self.bak = m.var("bak", content, sentence="the backup of the topic table's file", part="disk")
        self.tmp = m.var("tmp", content, sentence="the temporary file", part="disk")
        self.old = m.var("old", content, sentence="the file as it was when persist began", part="broker")
        self.backup = m.var("backup", content, sentence="the backup as it was when persist began", part="broker")
        self.new = m.var("new", some, init=frozenset(), sentence="the topics that persist writes", part="broker")
        self.promised = m.var("promised", some, init=first, sentence="the topics whose persist call has returned", part="client")
        self.registered = m.var("registered", some, init=first, sentence="the topics that the name server has", part="name server")
        self.written = m.var("written", Bool, init=self.earlier, sentence="whether a whole table was ever in a file")
        self.dirty_main = m.var("dirty_main", Bool, init=False, sentence="whether the file's bytes may be in memory only", part="disk")
        self.dirty_bak = m.var("dirty_bak", Bool, init=False, sentence="whether the backup's bytes may be in memory only", part="disk")
        self.crashes = m.var("crashes", budget, init=0, sentence="how many crashes there were")
        self.errors = m.var("errors", budget, init=0, sentence="how many errors of the disk there were")
        self.powers = m.var("powers", budget, init=0, sentence="how many losses of power there were")
        _persist(self)
        _disk_errors(self)
        _ends(self)
        _start(self)


def loads(main: Row, bak: Row) -> Expr:
    """PER-03: load() returns true if the main file is whole, or the backup is not broken."""
    return (main.text == "whole") | (bak.text != "broken")


def loaded(main: Row, bak: Row) -> Expr:
    """PER-03, PER-04: load() reads the topics from the main file, else from the backup, else it finds none. Only a whole file has
    topics."""
    return ite(main.text == "whole", main.topics, bak.topics)


def _require_running(p: Persistence, a: Body) -> None:
    a.guard("broker runs", p.life == "runs", "the broker runs")


def _without_topics(p: Persistence, text: str) -> Row:
    return Row({"text": coerce(text, Text), "topics": const(0, p.topics)})


def _forget(p: Persistence, a: Body) -> None:
    """End the persist call, and clear its variables."""
    a.update(p, phase="idle", old=_without_topics(p, "missing"), backup=_without_topics(p, "missing"), new=frozenset())


def _return(p: Persistence, a: Body) -> None:
    """Persist returns normally, so its caller takes the whole table as written."""
    _forget(p, a)
    a.set(p.promised, p.promised | p.memory)


def _persist(p: Persistence) -> None:
    """string2File in its order (PER-02), its caller, and the registration."""

    @p.action(actor=CLIENT, sends_to="broker", rules="TCM-16 TCM-30 PER-01", t=p.Topic)
    def create(a: Body, t: Expr) -> None:
        """A topic enters the table, and persist begins."""
        _require_running(p, a)
        a.guard("no persist under way", p.phase == "idle", "no persist is under way")
        a.guard("unknown", (p.memory & single(t)) == frozenset(), "the broker does not have the topic")
        a.update(p, memory=p.memory | single(t), new=p.memory | single(t), old=p.main, backup=p.bak, phase="begun")

    def write(name: str, after: str, phase: str, row: Row, content: Row, sentence: str) -> None:
        def step(a: Body) -> None:
            _require_running(p, a)
            if row is p.tmp:
                a.guard("by way of a temporary file", ~p.overwrites_in_place, "the release replaces the file")
            if row is p.main:
                a.guard("in place", p.overwrites_in_place, "the release overwrites the file in place")
                a.set(p.dirty_main, True)
            if row is p.bak:
                a.set(p.dirty_bak, True)
            a.guard("its turn", p.phase == after if after else turns[name], "it is this step's turn")
            if name == "truncate_bak":
                a.guard("previous content", p.main.text != "missing", "there is a main file whose content was read")
            if content is new:
                a.set(p.written, True)
            a.set(row, content)
            if name == "fill_main":
                _return(p, a)
            else:
                a.set(p.phase, phase)

        step.__doc__ = sentence
        p.action(name=name, actor=HANDLER, rules="PER-10" if row is p.main else "PER-02 PER-05", fair="weak")(step)

    turns = {
        "truncate_bak": p.phase == ite(p.overwrites_in_place, coerce("begun", Phase), "tmp written"),
        "truncate_main": (p.phase == "bak written") | ((p.phase == "begun") & (p.main.text == "missing")),
    }
    empty, broken = _without_topics(p, "empty"), _without_topics(p, "broken")
    half = ite(p.main.text == "empty", empty, broken)
    new = Row({"text": coerce("whole", Text), "topics": p.new})
    write("truncate_tmp", "begun", "tmp truncated", p.tmp, empty, "The temporary file is opened and truncated.")
    write("half_tmp", "tmp truncated", "tmp half", p.tmp, broken, "A part of the new text is written to the temporary file.")
    write("fill_tmp", "tmp half", "tmp written", p.tmp, new, "The temporary file is complete.")
    write("truncate_bak", "", "bak truncated", p.bak, empty, "The backup is opened and truncated.")
    write("half_bak", "bak truncated", "bak half", p.bak, half, "A part of the main file's content is written to the backup.")
    write("fill_bak", "bak half", "bak written", p.bak, p.main, "The backup has the main file's content, valid or not.")
    write("truncate_main", "", "main truncated", p.main, empty, "The main file is opened and truncated.")
    write("half_main", "main truncated", "main half", p.main, broken, "A part of the new text is written to the main file.")
    write("fill_main", "main half", "idle", p.main, new, "The main file is complete, and persist returns.")

    @p.action(actor=HANDLER, rules="PER-02 PER-05 PER-07", fair="weak")
    def delete_main(a: Body) -> None:
        """The main file is deleted. If there was none, the backup was not changed."""
        _require_running(p, a)
        a.guard("by way of a temporary file", ~p.overwrites_in_place, "the release replaces the file")
        a.guard("its turn", _delete_is_next(p), "the backup is written, or there was nothing to write")
        a.update(p, main=_without_topics(p, "missing"), dirty_main=False, phase="main deleted")

    @p.action(actor=HANDLER, rules="PER-02 PER-05", fair="weak")
    def rename_tmp(a: Body) -> None:
        """The temporary file becomes the main file, and persist returns."""
        _require_running(p, a)
        a.guard("by way of a temporary file", ~p.overwrites_in_place, "the release replaces the file")
        a.guard("its turn", p.phase == "main deleted", "the main file is deleted, or its deletion was tried")
        a.update(p, main=p.tmp, tmp=_without_topics(p, "missing"), dirty_main=True)
        _return(p, a)

    @p.action(actor=SERVICE, sends_to="name server", rules="TCM-17 NS-04 NS-10")
    def register(a: Body) -> None:
        """The broker registers its table. The name server adds new topics and keeps the others. The timer does not wait for persist."""
        _require_running(p, a)
        a.guard("after persist", (p.phase == "idle") | p.timer, "no persist is under way, or it is the timer's registration")
        a.guard("something new", (p.registered | p.memory) != p.registered, "the name server lacks a topic of the table")
        a.set(p.registered, p.registered | p.memory)


def _delete_is_next(p: Persistence) -> Expr:
    return (p.phase == "bak written") | ((p.phase == "tmp written") & (p.main.text == "missing"))


def _disk_errors(p: Persistence) -> None:
    """Input and output errors, which persist does not report."""

    def error(a: Body) -> None:
        _require_running(p, a)
        a.bound("errors left", p.errors < p.error_budget, "the scope allows another error")
        a.set(p.errors, p.errors + 1)

    @p.action(actor=ENVIRONMENT, part="disk", rules="PER-01 TCM-18", weight=0.3)
    def disk_full(a: Body) -> None:
        """A write fails. Persist logs the error, leaves the files as they are, and returns normally."""
        error(a)
        backs_up = (p.phase == "tmp written") & (p.main.text != "missing")
        writes = any_of(p.phase == phase for phase in WRITING) | backs_up | ((p.phase == "bak written") & p.overwrites_in_place)
        a.guard("writes next", writes, "the next step of persist is a write")
        _return(p, a)

    @p.action(actor=ENVIRONMENT, part="disk", rules="PER-02", weight=0.3)
    def delete_fails(a: Body) -> None:
        """The delete fails. Its result is ignored, and persist continues."""
        error(a)
        a.guard("by way of a temporary file", ~p.overwrites_in_place, "the release replaces the file")
        a.guard("its turn", _delete_is_next(p), "the backup is written, or there was nothing to write")
        a.set(p.phase, "main deleted")

    @p.action(actor=ENVIRONMENT, part="disk", rules="PER-02", weight=0.3)
    def rename_fails(a: Body) -> None:
        """The rename fails. Its result is ignored, and persist returns."""
        error(a)
        a.guard("by way of a temporary file", ~p.overwrites_in_place, "the release replaces the file")
        a.guard("its turn", p.phase == "main deleted", "the main file is deleted, or its deletion was tried")
        _return(p, a)


def _ends(p: Persistence) -> None:
    """Crashes between two steps, and power losses."""

    def ends(a: Body) -> None:
        _require_running(p, a)
        a.update(p, life="down", memory=frozenset())

    @p.action(actor=ENVIRONMENT, rules="PER-05", weight=0.3)
    def crash(a: Body) -> None:
        """The process crashes. Its memory is lost, and the files stay as they are."""
        ends(a)
        a.bound("crashes left", p.crashes < p.crash_budget, "the scope allows another crash")
        a.set(p.crashes, p.crashes + 1)

    @p.action(actor=ENVIRONMENT, rules="PER-05 PER-06", weight=0.3, main=Fate, bak=Fate)
    def power_loss(a: Body, main: Expr, bak: Expr) -> None:
        """The power fails. Data that was never forced to the device may be kept, empty or corrupt."""
        ends(a)
        a.bound("losses left", p.powers < p.power_budget, "the scope allows another loss of power")
        a.guard("main at risk", (main == "kept") | p.dirty_main, "the main file is kept if it is on the device")
        a.guard("backup at risk", (bak == "kept") | p.dirty_bak, "the backup is kept if it is on the device")
        a.set(p.powers, p.powers + 1)
        for fate, row in ((main, p.main), (bak, p.bak)):
            a.set(row, ite(fate == "kept", row, ite(fate == "emptied", _without_topics(p, "empty"), _without_topics(p, "broken"))))
        a.update(p, dirty_main=False, dirty_bak=False)

    @p.action(actor=ENVIRONMENT, part="disk", rules="PER-02", weight=0.5)
    def write_back(a: Body) -> None:
        """The operating system writes data to the device that the broker has not forced."""
        a.guard("something to write", p.dirty_main | p.dirty_bak, "a file's bytes are in memory only")
        _require_running(p, a)
        a.update(p, dirty_main=False, dirty_bak=False)


def _start(p: Persistence) -> None:
    """The start of the next process."""

    @p.action(actor=ENVIRONMENT, rules="PER-03 PER-04 PER-06 PER-07 PER-08", fair="weak")
    def start(a: Body) -> None:
        """The broker starts with the main file, or else with its backup. With a broken backup it does not start."""
        a.guard("broker down", p.life == "down", "the broker does not run")
        good = loads(p.main, p.bak)
        a.set(p.life, ite(good, coerce("runs", Life), "refused"))
        a.set(p.memory, loaded(p.main, p.bak), when=good)
        _forget(p, a)
