"""Histories of runs. Input: history files and recordings. Output: events, and exchanges, each a request with its responses. Read
`exchange` first.

`events` are the events, `files` the NDJSON files, `exchanges` the pairing of events into exchanges, `exchange` one exchange. `recordings`
reads recordings of single requests as histories. `covered` states which requests the specification covers.
"""

from .events import SCHEMA, TYPES, VERSION, Event, Header, Moment, Rules, event_line, header_line
from .files import Writer, is_history, read, read_piece

__all__ = [
    "SCHEMA",
    "TYPES",
    "VERSION",
    "Event",
    "Header",
    "Moment",
    "Rules",
    "Writer",
    "event_line",
    "header_line",
    "is_history",
    "read",
    "read_piece",
]
