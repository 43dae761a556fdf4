"""What all printing shares: a page on stdout with lines and tables, and a line about progress on stderr.

What came of a command is printed by the module `show` beside what computed it. Tables are made here and not by rich's Table: a heading may
span the columns, nothing that is piped is cut to a width, and no line ends in blanks.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rocketproof_protocol.shown import one_line, printable

from .choices import InputError

SPARSE_SECONDS: Final = 5.0
"""Between two plain lines about progress where stderr is not a terminal."""
REFRESH_SECONDS: Final = 0.1
"""Between two changes of the line on a terminal."""
ROOM: Final = 30
"""Columns that words need to stand beside the cells of their row, and not below."""
NARROW, WIDE = 20, 160
"""Lines are wrapped to the terminal's width between these."""
USUAL: Final = 80
"""On narrower terminals the cells of a row that is too wide are wrapped."""
_NUMBERS: Final = re.compile(r"[0-9,]+")
_WHOLE: Final = re.compile(r"/|rocketproof |[^\n]\n")


@dataclass(frozen=True)
class TableRow:
    """A line of a table: a mark of one character, cells, which are aligned with those of other rows, and words behind them, which are
    wrapped."""

    cells: Sequence[str]
    words: str = ""
    style: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Heading:
    """A line of a table that spans its columns; further lines of it are indented."""

    text: str
    indent: int = 0
    style: str = "bold"


_taken: ContextVar[str] = ContextVar("_taken", default="")


def take_stdout(option: str) -> None:
    """Keep standard output for what an option asks for there; a person reads standard error until `release_stdout`.

    Raises InputError where another option has it.
    """
    if _taken.get() not in ("", option):
        raise InputError(f"{option} with {_taken.get()}: standard output takes the results of one of them; give the other one a file")
    _taken.set(option)


def for_people() -> TextIO:
    """Where a person reads: standard error while an option has standard output."""
    return sys.stderr if _taken.get() else sys.stdout


def release_stdout() -> None:
    """Give standard output back to what is printed for a person."""
    _taken.set("")


def write(text: str) -> None:
    """Write results to standard output. Raises BrokenPipeError where nobody reads it, and InputError where it takes no more."""
    with _taking(1):
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def _taking(stream: int) -> Iterator[None]:
    """Raise an error of writing a stream, but a reader that went away, as InputError; nothing is offered to it again, as at exit."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        nobody_listens(stream)
        name = "standard error" if stream == 2 else "standard output"
        raise InputError(f"{name} cannot be written ({error.strerror}); give it a file with room, or a reader") from None


class Output(Console):
    """A console on standard output, or on standard error while an option has standard output.

    If its reader goes away (`| head`), the command goes on without it: its exit code and its files are the same as without a pipe.
    """

    def __init__(self, width: int | None = None) -> None:
        super().__init__(width=width, highlight=False, stderr=bool(_taken.get()))

    def print(self, *objects: Any, **options: Any) -> None:
        """What a console prints, but for control characters: a name that somebody chose is no command to a terminal."""
        with _taking(self._stream):
            super().print(*map(_harmless, objects), **options)

    @property
    def _stream(self) -> int:
        return 2 if self.stderr else 1

    def on_broken_pipe(self) -> None:
        nobody_listens(self._stream)


def _harmless(shown: Any) -> Any:
    """A text without control characters; its styles stay where they are."""
    if isinstance(shown, str):
        return printable(shown)
    if isinstance(shown, Text) and (plain := printable(shown.plain)) != shown.plain:
        shown = shown.copy()
        shown.plain = plain
    return shown


def nobody_listens(stream: int = 1) -> None:
    """Let standard output, or the stream of another number, go nowhere from now on; without this the interpreter complains at exit too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


class Page:
    """Standard output, line by line; `width` is that of wrapped lines: the terminal's, within reason."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Output()
        self.width = min(max(self._console.width, NARROW), WIDE)

    def line(self, text: str | Text = "", style: str = "") -> None:
        """A line as it is, which is left to the terminal if it is too long, so that a path or a command stays whole; other lines are
        wrapped on a terminal that is narrower than `USUAL`."""
        if isinstance(text, str) and self.width < USUAL and len(text) > self.width and not _WHOLE.search(text):
            empty = text[: len(text) - len(text.lstrip("\n"))]
            text = empty + "\n".join(_wrap(text.lstrip("\n"), self.width, "", "  "))
        self._console.print(text if isinstance(text, Text) else Text(text, style), soft_wrap=True)

    def wrapped(self, text: str, style: str = "", *, first: str = "", indent: int = 2) -> None:
        """A text on as many lines as it needs; `first` is put before it, the other lines are indented."""
        self.line("\n".join(_wrap(text, self.width, first, " " * indent)), style)

    def verdicts(self, rows: Sequence[tuple[str, str, str]], words: Mapping[str, str], styles: Mapping[str, str], *, every: bool) -> None:
        """How many of the rows came to each verdict, in the order of its `words`; with `every` a line for each row before. A row has its
        verdict, by what that was found, and what is said of it."""
        if every:
            self.table(TableRow((verdict, by), said, styles.get(verdict, "")) for verdict, by, said in rows)
            self.line()
        counts = Counter(verdict for verdict, *_ in rows)
        found = ((verdict, f"{counts[verdict]:,}", meaning) for verdict, meaning in words.items() if counts[verdict])
        self.table((TableRow((verdict, n), meaning, styles.get(verdict, "")) for verdict, n, meaning in found), right=(1,), indent=0)

    def table(self, rows: Iterable[TableRow | Heading], heads: Sequence[str] = (), *, right: Collection[int] = (), indent: int = 2) -> None:
        """Rows under `heads`, of which one may belong to the words; the cells of columns in `right` end at the same place.

        A column whose cells are all empty is left out. Words stand beside the cells, or below where there is little room.
        """
        lines = list(rows)
        cells = [row.cells for row in lines if isinstance(row, TableRow)]
        marked = any(isinstance(row, TableRow) and row.mark for row in lines)
        columns = range(max(map(len, cells), default=0))
        shown = [i for i in columns if any(row[i] for row in cells)]
        sizes = {i: max(len(row[i]) for row in (*cells, *([heads] if heads else []))) for i in shown}

        def aligned(row: Sequence[str], mark: str = "") -> str:
            cells = (f"{row[i]:{'>' if i in right else '<'}{sizes[i]}}  " for i in shown)
            return " " * indent + f"{mark:<2}" * marked + "".join(cells)

        side = indent + 2 * marked + sum(sizes[i] + 2 for i in shown)
        beside = self.width - side >= ROOM
        hanging = " " * (side if beside else indent + 4)
        if heads and (side <= self.width or self.width >= USUAL):
            self.line((aligned(heads) + "".join(heads[len(columns) :] if beside else ())).rstrip(), "dim")
        for row in lines:
            if isinstance(row, Heading):
                self.wrapped(row.text, row.style, indent=row.indent)
                continue
            if side > self.width and self.width < USUAL:
                self.wrapped(
                    "  ".join(cell for cell in row.cells if cell), row.style, first=f"{row.mark:<2}" * marked, indent=2 + 2 * marked
                )
                if row.words:
                    self.wrapped(row.words, first=hanging, indent=len(hanging))
                continue
            line = Text(aligned(row.cells, row.mark), row.style)
            words = f"\n{hanging}".join(_wrap(row.words, self.width - len(hanging), "", ""))
            if not (words and beside):
                line.rstrip()
            if words:
                line.append(words if beside else f"\n{hanging}{words}", "default")
            self.line(line)


def _wrap(text: str, width: int, first: str, then: str) -> list[str]:
    """Broken at blanks only, and at hyphens where there is little room: an id, a path or a test's name stays whole."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=width < USUAL // 2
    )


def counted(number: int, one: str, many: str = "") -> str:
    """`1 finding`, `1,234 findings`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def tell(line: str) -> None:
    """Print a line on standard error, for somebody who reads a log. If nobody does, the command goes on without it."""
    try:
        print(printable(line), file=sys.stderr, flush=True)
    except OSError:
        nobody_listens(2)


class ProgressLine:
    """One line on stderr: it changes on a terminal; elsewhere it is a plain line every few seconds, the first one after `quiet` seconds.

    It has no thread, so the process can be forked.
    """

    def __init__(self, *, quiet: float = 0.0) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True) if self._console.is_terminal else None
        self._pause = SPARSE_SECONDS if self._live is None else REFRESH_SECONDS
        self._begin = float("-inf") if self._live is not None else time.monotonic() + quiet
        self._last = float("-inf")
        self._kind = ""

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, text: str, kind: str = "") -> None:
        """Make this the line, unless the last one of its `kind` has been there for too short a time."""
        now = time.monotonic()
        if now < self._begin or (now - self._last < self._pause and kind == self._kind):
            return
        self._last, self._kind = now, kind
        if self._live is None:
            tell(text)
        else:
            self._live.update(Text(one_line(text)), refresh=True)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress line: `report(done, all)`."""
    with ProgressLine(quiet=SPARSE_SECONDS) as line:
        yield lambda done, all_: line.show(f"{what} {done:,} of {all_:,}")


@contextmanager
def bytes_done(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress line about bytes: `report(done, all)`."""
    with ProgressLine() as line:
        yield lambda done, all_: line.show(f"{what}: {done >> 20:,} of {all_ >> 20:,} MiB")


@contextmanager
def phrases() -> Iterator[Callable[[str], None]]:
    """A progress line: `report(text)`; another text, whatever its numbers, is shown at once."""
    with ProgressLine(quiet=SPARSE_SECONDS) as line:
        yield lambda text: line.show(text, _NUMBERS.sub("", text))


@contextmanager
def phases() -> Iterator[Callable[[str, int, int], None]]:
    """A progress line as `phrases` has it: `report(what, done, all)`."""
    with phrases() as report:
        yield lambda what, done, all_: report(f"{what} {done:,} of {all_:,}")
