"""Access control of a running explorer: only a page that it served itself, in a browser on this machine, for a user with the token.

The server listens on loopback, but every page in the browser can send requests there. So the Host must be loopback with the server's port
(other names bound to 127.0.0.1 are rejected), and an Origin must be the server's own. Every request needs the token, which is in no page
and in no cookie. The page's address contains it, and the page's requests send it in a header.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from rocketproof_protocol.numbers import java_long

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST: Final = 16 * 2**20
"""The maximum size of a request in bytes."""
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),  # the token is in the page's address
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
)


class TooLarge(Exception):
    """A request has more bytes than LARGEST."""


class Guarded:
    """The application, accessible only under these conditions."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self.refusal(scope)
        answer: App = self.app if refused is None else refused

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        await answer(scope, _bounded(receive), with_headers)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the response that rejects a request, None if it is allowed."""
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return _refused(421, "this address is not the explorer's; open the one that `rocketproof explore` printed")
        if any(origin not in self.origins for origin in headers.getlist("origin")):
            return _refused(403, "another page may not ask the explorer; open the address that `rocketproof explore` printed")
        if not self._knows(scope, headers):
            return _refused(401, "the token is missing or wrong; open the address that `rocketproof explore` printed")
        size = headers.get("content-length", "0")
        if (length := java_long(size)) is None or not 0 <= length <= LARGEST:
            return _refused(413, f"the request is larger than {LARGEST // 2**20} MiB; ask what the page asks")
        if scope["method"] == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _refused(415, "the request is no JSON; send Content-Type: application/json")
        return None

    def _knows(self, scope: Scope, headers: Headers) -> bool:
        """Whether the request has the token: in the page's address, or in a header of any other request."""
        if scope["path"] == "/":
            tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
            return len(tokens) == 1 and self._same(tokens[0])
        kind, _, token = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self._same(token.strip())

    def _same(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self.token.encode())


def _refused(status: int, error: str) -> Response:
    return JSONResponse({"error": error}, status)


def _bounded(receive: Receive) -> Receive:
    """Receive messages until a request without a length gets too large."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST:
            raise TooLarge
        return message

    return bounded


__all__ = ["LARGEST", "Guarded", "TooLarge"]
