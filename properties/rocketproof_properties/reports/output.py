"""Shared output functions: a page on stdout with lines and tables, and a progress line on stderr.

The results of a command are printed by the module `show` next to the code that computes them. Tables are not made by rich's Table: a
heading may span columns, piped output is not cut to a width, and no line ends in blanks.
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
"""Seconds between two progress lines if stderr is not a terminal. Later in a long run, the pause is `SPARSE_SHARE` of the run so far."""
SPARSE_SHARE: Final = 0.2
REFRESH_SECONDS: Final = 0.1
"""Seconds between two updates of the progress line on a terminal."""
ROOM: Final = 30
"""Minimum number of columns for the words of a row to be printed next to its cells, and not below."""
NARROW, WIDE = 20, 160
"""Lines are wrapped to the terminal's width, within these limits."""
USUAL: Final = 80
"""On narrower terminals the cells of a row that is too wide are wrapped."""
_NUMBERS: Final = re.compile(r"[0-9,]+")
_WHOLE: Final = re.compile(r"/|rocketproof |[^\n]\n")


@dataclass(frozen=True)
class TableRow:
    """A row of a table: a mark of one character, cells that are aligned across rows, and words after them, which are wrapped."""

    cells: Sequence[str]
    words: str = ""
    style: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading that spans the columns of a table. Its further lines are indented by `indent`."""

    text: str
    indent: int = 0
    style: str = "bold"


_taken: ContextVar[str] = ContextVar("_taken", default="")


def take_stdout(option: str) -> None:
    """Reserve standard output for the results of an option. Text for the user goes to standard error until `release_stdout`.

    Raises InputError if another option has reserved it.
    """
    if _taken.get() not in ("", option):
        raise InputError(f"{option} with {_taken.get()}: standard output takes the results of one of them; give the other one a file")
    _taken.set(option)


def for_people() -> TextIO:
    """Return the stream for the user's text: standard error while an option has reserved standard output."""
    return sys.stderr if _taken.get() else sys.stdout


def release_stdout() -> None:
    """End the reservation of standard output."""
    _taken.set("")


def write(text: str) -> None:
    """Write results to standard output. Raises BrokenPipeError if its reader has closed it, and InputError if it cannot be written."""
    with _taking(1):
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def _taking(stream: int) -> Iterator[None]:
    """Convert an error of writing to a stream, except BrokenPipeError, to InputError.

    Later writes to the stream, such as at exit, are discarded.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        nobody_listens(stream)
        name = "standard error" if stream == 2 else "standard output"
        raise InputError(f"{name} cannot be written ({error.strerror}); give it a file with room, or a reader") from None


class Output(Console):
    """A console on standard output, or on standard error while an option has reserved standard output.

    If its reader closes it (`| head`), the command continues: its exit code and its files are the same as without a pipe.
    """

    def __init__(self, width: int | None = None) -> None:
        super().__init__(width=width, highlight=False, stderr=bool(_taken.get()))

    def print(self, *objects: Any, **options: Any) -> None:
        """Print without control characters, so that a name cannot contain a terminal command."""
        with _taking(self._stream):
            super().print(*map(_harmless, objects), **options)

    @property
    def _stream(self) -> int:
        return 2 if self.stderr else 1

    def on_broken_pipe(self) -> None:
        nobody_listens(self._stream)


def _harmless(shown: Any) -> Any:
    """Remove the control characters of a text and keep its styles."""
    if isinstance(shown, str):
        return printable(shown)
    if isinstance(shown, Text) and (plain := printable(shown.plain)) != shown.plain:
        shown = shown.copy()
        shown.plain = plain
    return shown


def nobody_listens(stream: int = 1) -> None:
    """Discard all further output to a stream, so that the interpreter does not report an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


class Page:
    """Standard output, line by line. `width` is the width of wrapped lines: the terminal's, within limits."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Output()
        self.width = min(max(self._console.width, NARROW), WIDE)

    def line(self, text: str | Text = "", style: str = "") -> None:
        """Print a line.

        A line that is too long is left to the terminal, so that a path or a command stays whole. On a terminal narrower than `USUAL`, other
        lines are wrapped.
        """
        if isinstance(text, str) and self.width < USUAL and len(text) > self.width and not _WHOLE.search(text):
            empty = text[: len(text) - len(text.lstrip("\n"))]
            text = empty + "\n".join(_wrap(text.lstrip("\n"), self.width, "", "  "))
        self._console.print(text if isinstance(text, Text) else Text(text, style), soft_wrap=True)

    def wrapped(self, text: str, style: str = "", *, first: str = "", indent: int = 2) -> None:
        """Print a text, wrapped. `first` is a prefix of the first line; the other lines are indented."""
        self.line("\n".join(_wrap(text, self.width, first, " " * indent)), style)

    def verdicts(self, rows: Sequence[tuple[str, str, str]], words: Mapping[str, str], styles: Mapping[str, str], *, every: bool) -> None:
        """Print the number of rows per verdict, in the order of `words`; with `every`, a line for each row first.

        A row has its verdict, what decided it, and a remark.
        """
        if every:
            self.table(TableRow((verdict, by), remark, styles.get(verdict, "")) for verdict, by, remark in rows)
            self.line()
        counts = Counter(verdict for verdict, *_ in rows)
        counted_rows = ((verdict, f"{counts[verdict]:,}", meaning) for verdict, meaning in words.items() if counts[verdict])
        self.table((TableRow((verdict, n), meaning, styles.get(verdict, "")) for verdict, n, meaning in counted_rows), right=(1,), indent=0)

    def table(self, rows: Iterable[TableRow | Heading], heads: Sequence[str] = (), *, right: Collection[int] = (), indent: int = 2) -> None:
        """Print rows under `heads`. A last head belongs to the words. Columns in `right` are right-aligned.

        A column whose cells are all empty is omitted. Words are printed next to the cells, or below if there is little room.
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
    """Wrap at blanks, and at hyphens only if the width is small: an id, a path or a test's name stays whole."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=width < USUAL // 2
    )


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 finding` or `1,234 findings`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def tell(line: str) -> None:
    """Print a line on standard error. If it cannot be written, the command continues."""
    try:
        print(printable(line), file=sys.stderr, flush=True)
    except OSError:
        nobody_listens(2)


class ProgressLine:
    """A progress line on stderr. It is updated on a terminal; elsewhere a line is printed every few seconds, the first one after `quiet`
    seconds.

    It has no thread, so that the process can be forked.
    """

    def __init__(self, *, quiet: float = 0.0) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True) if self._console.is_terminal else None
        self._pause = SPARSE_SECONDS if self._live is None else REFRESH_SECONDS
        self._start = time.monotonic()
        self._begin = float("-inf") if self._live is not None else self._start + quiet
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
        """Show this text, unless the last text of its `kind` was shown too recently."""
        now = time.monotonic()
        pause = self._pause if self._live is not None else max(self._pause, SPARSE_SHARE * (now - self._start))
        if now < self._begin or (now - self._last < pause and kind == self._kind):
            return
        self._last, self._kind = now, kind
        if self._live is None:
            tell(text)
        else:
            self._live.update(Text(one_line(text)), refresh=True)

    def keep(self, text: str) -> None:
        """Print a line that stays, above the progress line."""
        if self._live is None:
            tell(text)
        else:
            self._console.print(Text(one_line(text)), soft_wrap=True)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress by `report(done, all)`."""
    with ProgressLine(quiet=SPARSE_SECONDS) as line:
        yield lambda done, all_: line.show(f"{what} {done:,} of {all_:,}")


def _mib(size: int) -> str:
    """Return MiB, rounded up, so that a small file is not nothing."""
    return f"{-(-size >> 20):,}"


@contextmanager
def bytes_done(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress in MiB by `report(done, all)`, in bytes."""
    with ProgressLine(quiet=SPARSE_SECONDS) as line:
        yield lambda done, all_: line.show(f"{what}: {_mib(done)} of {_mib(all_)} MiB")


@contextmanager
def phrases() -> Iterator[Callable[[str], None]]:
    """Show progress by `report(text)`. A text that differs in more than its numbers is shown at once."""
    with ProgressLine(quiet=SPARSE_SECONDS) as line:
        yield lambda text: line.show(text, _NUMBERS.sub("", text))


@contextmanager
def phases() -> Iterator[Callable[[str, int, int], None]]:
    """Show progress like `phrases`, by `report(what, done, all)`."""
    with phrases() as report:
        yield lambda what, done, all_: report(f"{what} {done:,} of {all_:,}")


@contextmanager
def phases_and_findings() -> Iterator[tuple[Callable[[str, int, int], None], Callable[[str], None]]]:
    """Show progress like `phases`. The second function prints a finding's sentence at once, in a line that stays."""
    with ProgressLine(quiet=SPARSE_SECONDS) as line:

        def report(what: str, done: int, all_: int) -> None:
            text = f"{what} {done:,} of {all_:,}"
            line.show(text, _NUMBERS.sub("", text))

        yield report, lambda sentence: line.keep(f"finding: {sentence}")
