"""The served explorer: permitted clients, responses, and refusals of one line. The tests call the application without a network."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from rocketproof_model.result import Witness
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.explorer import page, serving
from rocketproof_traces.explorer.access import LARGEST, Guarded
from rocketproof_traces.explorer.document import TraceSubject
from rocketproof_traces.explorer.opened import Opened, Progress, Trace, walk
from rocketproof_traces.explorer.server import Explorer
from rocketproof_traces.explorer.sessions import KEPT, MOST_STATES

TOKEN, PORT = "a-token", 4711
LONG = 6000  # reports of an opening that lasts a minute unless it is stopped
JSON = {"content-type": "application/json"}


@dataclass
class OneOpening:
    witness: Witness
    told: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> Opened | None:
        return Trace(self.witness, TraceSubject("shop"))

    def catalogue(self) -> Mapping[str, Any]:
        return {"properties": [], "witnesses": [], "scopes": []}

    def open(self, wish: Mapping[str, Any], report: Progress) -> Opened:
        if wish.get("property") == "wrong":
            raise TraceError("property", "there is none\nof this name", "choose another")
        if wish.get("property") == "broken":
            raise ZeroDivisionError("oh")
        if wish.get("property") == "long":
            try:
                for number in range(LONG):
                    self.told.append(f"{number}")
                    report(f"looking {number}")
                    time.sleep(0.01)
            finally:
                self.ended.set()
        for number in range(3):
            report(f"looking {number}")
        return walk(self.witness.instance, TraceSubject("shop"))


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.decode().splitlines()]


class Client:
    """Sends requests to an application like the page in a browser."""

    def __init__(self, witness: Witness) -> None:
        self.explorer = Explorer(OneOpening(witness), "1.2.3")
        self.app = Guarded(self.explorer.app(), TOKEN, PORT)

    leaves: Callable[[], bool] = staticmethod(lambda: False)
    """Whether the page goes away now; asked again and again after its request."""

    def ask(self, method: str, path: str, body: Any = None, **headers: str | None) -> Answer:
        usual = {"host": f"127.0.0.1:{PORT}", "authorization": f"Bearer {TOKEN}"} | (JSON if method == "POST" else {})
        given = {k: v for k, v in {**usual, **{k.replace("_", "-"): v for k, v in headers.items()}}.items() if v is not None}
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "root_path": "",
            "scheme": "http",
            "query_string": query.encode(),
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", PORT),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }
        sent: list[Any] = []
        received = [{"type": "http.request", "body": raw, "more_body": False}]

        async def receive() -> Any:
            if not received:
                while not self.leaves():
                    await asyncio.sleep(0.001)
                return {"type": "http.disconnect"}
            return received.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        start = next(m for m in sent if m["type"] == "http.response.start")
        content = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
        return Answer(start["status"], {k.decode().lower(): v.decode() for k, v in start["headers"]}, content)

    def post(self, path: str, body: Any) -> Answer:
        return self.ask("POST", path, body)


@pytest.fixture
def client(lasso: Witness) -> Client:
    return Client(lasso)


# Permitted clients


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (f"/?token={TOKEN}", {}, 200),
        (f"/?token={TOKEN}", {"authorization": None}, 200),
        (f"/?token={TOKEN}", {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}, 200),
        ("/", {}, 401),
        ("/?token=", {}, 401),
        ("/?token=other", {}, 401),
        (f"/?token=other&token={TOKEN}", {}, 401),
        ("/api/start", {}, 200),
        (f"/api/start?token={TOKEN}", {"authorization": None}, 401),
        ("/api/start", {"authorization": None}, 401),
        ("/api/start", {"authorization": "Bearer other"}, 401),
        ("/api/start", {"authorization": f"Basic {TOKEN}"}, 401),
        ("/api/start", {"authorization": "Bearer \u00e9"}, 401),
        ("/api/start", {"host": None}, 421),
        ("/api/start", {"host": "127.0.0.1"}, 421),
        ("/api/start", {"host": "evil.example"}, 421),
        ("/api/start", {"host": f"evil.example:{PORT}"}, 421),  # a foreign name that resolves to 127.0.0.1
        ("/api/start", {"host": "127.0.0.1:4712"}, 421),
        ("/api/start", {"origin": "http://evil.example"}, 403),
        ("/api/start", {"origin": "null"}, 403),
        ("/api/start", {"origin": f"https://127.0.0.1:{PORT}"}, 403),
        ("/nothing", {}, 404),
        ("/../etc/passwd", {}, 404),
    ],
)
def test_only_own_page_with_token_is_answered(client: Client, path: str, headers: dict[str, str], status: int) -> None:
    answer = client.ask("GET", path, **headers)
    assert answer.status == status
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    if status != 200:
        assert "\n" not in answer.data["error"]
        assert TOKEN not in answer.body.decode()


def test_request_body_must_be_json_of_limited_size(client: Client) -> None:
    assert client.ask("POST", "/api/graph", {}, content_type="text/plain").status == 415
    assert client.ask("POST", "/api/graph", {}, content_type=None).status == 415
    assert client.ask("POST", "/api/graph", {}, content_length=str(LARGEST + 1)).status == 413
    assert client.ask("POST", "/api/graph", {}, content_length="-1").status == 413
    assert client.ask("POST", "/api/graph", b" " * (LARGEST + 1)).status == 413  # as received without a length
    for body in (b"{", b"[1]", b"\xff", b"[" * 100_000, b""):
        answer = client.ask("POST", "/api/graph", body)
        assert (answer.status, "no JSON" in answer.data["error"]) == (400, True)
    assert client.ask("GET", "/api/graph").status == 405
    assert client.ask("PUT", "/api/start").status == 405


def test_socket_listens_on_this_machine_only() -> None:
    with serving.bound(0) as listening:
        host, port = listening.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(TraceError, match=rf"^port {port}: is in use; give another --port"):
            serving.bound(port)
    with pytest.raises(TraceError, match="is no port"):
        serving.bound(70_000)


# Responses


def test_page_starts_with_trace_and_model(client: Client) -> None:
    assert client.ask("GET", f"/?token={TOKEN}").body.decode() == page.html()
    start = client.ask("GET", "/api/start").data
    assert start["version"] == "1.2.3"
    assert start["document"]["model"]["program"]["actions"]
    assert client.ask("GET", "/api/start").data == start
    for gone in ("/api/at", "/api/evaluate"):
        assert client.post(gone, {"session": start["document"]["live"]["session"]}).status == 404


def test_session_is_known_until_it_is_old(client: Client) -> None:
    first = client.ask("GET", "/api/start").data["document"]
    asked = {"session": first["live"]["session"], "limit": 5}
    assert client.post("/api/graph", asked).status == 200
    for wrong in ("other", None, 7, ["x"]):
        answer = client.post("/api/graph", {**asked, "session": wrong})
        assert (answer.status, "open the trace again" in answer.data["error"]) == (404, True)
    for _ in range(KEPT):
        client.post("/api/open", {})
    assert client.post("/api/graph", asked).status == 404


def test_opening_reports_progress_and_end(client: Client) -> None:
    *progress, last = client.post("/api/open", {"property": "p"}).lines
    assert progress == [{"progress": f"looking {n}"} for n in range(3)]
    assert last["document"]["title"] == "a walk from the initial state"
    assert client.post("/api/open", {"property": "wrong"}).lines == [{"error": "property: there is none of this name; choose another"}]
    assert client.post("/api/open", {"property": "broken"}).lines == [{"error": "the explorer failed: ZeroDivisionError: oh"}]
    client.explorer.ending.set()
    assert client.post("/api/open", {"property": "p"}).lines == [{"error": "stopped"}]


def test_leaving_page_stops_its_queries(client: Client) -> None:
    opening: OneOpening = client.explorer.openings  # type: ignore[assignment]
    client.leaves = lambda: len(opening.told) > 2
    client.post("/api/open", {"property": "long"})
    assert opening.ended.wait(60)
    assert 2 < len(opening.told) < LONG


def test_state_graph_of_small_scope(client: Client, lasso: Witness) -> None:
    document = client.ask("GET", "/api/start").data["document"]
    session = document["live"]["session"]
    found = client.post("/api/graph", {"session": session, "limit": 50}).lines[-1]
    assert (len(found["states"]), len(found["depth"]), found["complete"]) == (50, 50, False)
    assert found["states"][0] == document["states"][0]
    assert {a for a, _, _ in found["edges"]} <= set(range(50))
    actions = document["model"]["actions"]
    assert {actions[n]["name"] for _, _, n in found["edges"]} == {"take", "put", "audit", "rest"}
    for limit in (0, MOST_STATES + 1, "7", True):
        assert "limit" in client.post("/api/graph", {"session": session, "limit": limit}).lines[0]["error"]
