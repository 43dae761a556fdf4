"""Serve the explorer: the page and its requests. [The requests](../../docs/explorer-documents.md#served) and their responses are JSON.

Long operations respond with lines, each a JSON object: any number of `progress`, then the result or an `error`. Closing the page stops its
operations.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rocketproof_model import RocketproofError
from rocketproof_protocol.shown import json_text

from . import page
from .access import LARGEST, TooLarge
from .opened import Opened, Progress
from .sessions import Sessions, Unknown


class ExplorerSource(Protocol):
    """What a running explorer can open. The origin of models and properties is defined by the implementation."""

    def start(self) -> Opened | None:
        """Return the initial content of the page, None if the user has to choose."""
        ...

    def catalogue(self) -> Mapping[str, Any]:
        """Return the choices: properties with their cases, witnesses, scopes."""
        ...

    def open(self, wish: Mapping[str, Any], report: Progress) -> Opened:
        """Open the chosen content. Raises RocketproofError with a one-line message."""
        ...


@dataclass
class Explorer:
    """A running explorer: what it can open, its sessions, and whether it is stopping."""

    openings: ExplorerSource
    version: str
    sessions: Sessions = field(default_factory=Sessions)
    ending: threading.Event = field(default_factory=threading.Event)
    building: threading.Lock = field(default_factory=threading.Lock)  # terms are made by one thread at a time
    starting: threading.Lock = field(default_factory=threading.Lock)
    begun: dict[str, Any] | None = None

    def app(self) -> Starlette:
        """Return the application, to be wrapped in `access.Guarded`."""
        routes = [
            Route("/", self._page),
            Route("/api/start", self._start),
            Route("/api/open", self._open, methods=["POST"]),
            Route("/api/graph", self._graph, methods=["POST"]),
        ]
        handlers: Mapping[Any, Any] = {
            Unknown: _error(404),
            RocketproofError: _error(400),
            TooLarge: lambda _, __: JSONResponse({"error": f"the request is larger than {LARGEST // 2**20} MiB"}, 413),
            HTTPException: lambda _, error: JSONResponse({"error": f"{error.detail}; ask what the page asks"}, error.status_code),
        }
        return Starlette(routes=routes, exception_handlers=handlers)

    async def _page(self, _: Request) -> Response:
        return HTMLResponse(page.html())

    async def _start(self, _: Request) -> Response:
        def begin() -> dict[str, Any]:
            with self.starting:  # another page may wait for a search
                if self.begun is None:
                    opened = self.openings.start()
                    document = None if opened is None else self.sessions.enter(opened)
                    self.begun = {"document": document, "catalogue": dict(self.openings.catalogue()), "version": self.version}
                return self.begun

        return JSONResponse(await run_in_threadpool(begin))

    async def _open(self, request: Request) -> Response:
        wish = await _body(request)

        def work(report: Progress) -> dict[str, Any]:
            with self.building:
                return {"document": self.sessions.enter(self.openings.open(wish, report))}

        return self._lines(work)

    async def _graph(self, request: Request) -> Response:
        body = await _body(request)
        session = self.sessions[body.get("session")]
        return self._lines(lambda report: session.graph(body, report))

    def _lines(self, work: Callable[[Progress], Mapping[str, Any]]) -> Response:
        """Return the response of a long operation, which stops at the next progress after the page is closed."""
        gone = threading.Event()
        lines: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def put(line: Mapping[str, Any] | None) -> None:
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(lines.put_nowait, line)

        def report(text: str) -> None:
            if gone.is_set() or self.ending.is_set():
                raise KeyboardInterrupt
            put({"progress": text})

        def run() -> None:
            try:
                put(work(report))
            except RocketproofError as error:
                put({"error": " ".join(str(error).split())})
            except KeyboardInterrupt:
                put({"error": "stopped"})
            except Exception as error:  # noqa: BLE001  (the page shows the error; the server continues)
                put({"error": f"the explorer failed: {type(error).__name__}: {error}"})
            finally:
                put(None)

        async def stream() -> AsyncIterator[str]:
            threading.Thread(target=run, daemon=True).start()
            try:
                while (line := await lines.get()) is not None:
                    yield json_text(line, separators=(",", ":")) + "\n"
            finally:
                gone.set()

        return StreamingResponse(stream(), media_type="application/x-ndjson")


def _error(status: int) -> Callable[[Request, Exception], Response]:
    return lambda _, error: JSONResponse({"error": " ".join(str(error).split())}, status)


async def _body(request: Request) -> Mapping[str, Any]:
    """The JSON object of a request. Raises HTTPException."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, "the request is no JSON") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "the request is no JSON object")
    return body


__all__ = ["Explorer", "ExplorerSource"]
