"""What all printing shares: how wide a text may be, how it is wrapped, and progress lines on stderr.

What came of a command is printed by the module `show` beside what computed it.
"""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

SPARSE_SECONDS = 5.0


def stdout() -> Console:
    """Standard output; a line that is longer than the terminal is left to the terminal."""
    return Console(highlight=False, soft_wrap=True)


def width_of(console: Console) -> int:
    """The characters of a line that is wrapped here: as wide as the terminal, within reason."""
    return min(max(console.width, 80), 160)


def wrapped(text: str, width: int, first: str = "", then: str = "", style: str = "") -> Text:
    """A text on as many lines as it needs, the first and the other ones indented."""
    lines = textwrap.wrap(text, width, initial_indent=first, subsequent_indent=then, break_long_words=False)
    return Text("\n".join(lines), style)


def tell(line: str) -> None:
    """A line about progress, for somebody who reads a log."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress line on stderr, on a terminal only: `report(done, all)`."""
    console = Console(stderr=True, highlight=False)
    with console.status(what) as status:
        yield lambda done, all_: status.update(f"{what} {done} of {all_}")


@contextmanager
def bytes_done(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress line on stderr about bytes: it changes on a terminal, else it is a plain line every few seconds."""
    console = Console(stderr=True, highlight=False)
    last = time.monotonic()
    with console.status(what) as status:

        def report(done: int, all_: int) -> None:
            nonlocal last
            line = f"{what}: {done >> 20:,} of {all_ >> 20:,} MiB"
            status.update(line)
            if not console.is_terminal and time.monotonic() - last >= SPARSE_SECONDS:
                last = time.monotonic()
                tell(line)

        yield report


@contextmanager
def phases() -> Iterator[Callable[[str, int, int], None]]:
    """A progress line on stderr, on a terminal only: `report(what, done, all)`. It has no thread, so the process can be forked."""
    console = Console(stderr=True, highlight=False)
    with Live(console=console, auto_refresh=False, transient=True) as line:
        yield lambda what, done, all_: line.update(Text(f"{what} {done} of {all_}"), refresh=True)
