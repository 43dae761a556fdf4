"""Histories of runs: their events (`events`), their files (`files`), requests and answers in them (`operations`), recordings of single
requests read as histories (`cases`, `recordings`)."""

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
