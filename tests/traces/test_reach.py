"""An unreachable address is one line at once, for remote stores and for Spark masters."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from rocketproof_traces.common import reach
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark import session
from rocketproof_traces.stored import paths
from rocketproof_traces.stored.errors import StoredError


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use no settings of this machine, no knowledge of earlier tests, and short timeouts."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "STORAGE_EMULATOR_HOST", "CLOUD_STORAGE_EMULATOR_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(paths, "getproxies", dict)
    monkeypatch.setattr(reach, "_reachable", set())
    monkeypatch.setattr(reach, "ANSWER_SECONDS", 0.2)


@pytest.fixture
def server() -> Iterator[Callable[..., int]]:
    """Start a server that answers each connection with these bytes and closes it, or is silent; return its port."""
    with_ends: list[socket.socket] = []

    def start(answer: bytes | None) -> int:
        listening = socket.create_server(("127.0.0.1", 0))
        with_ends.append(listening)

        def serve() -> None:
            while True:
                try:
                    there, _ = listening.accept()
                except OSError:
                    return
                with there:
                    there.recv(100)
                    there.sendall(answer or b"")

        if answer is not None:
            threading.Thread(target=serve, daemon=True).start()
        return int(listening.getsockname()[1])

    yield start
    for address in with_ends:
        address.close()


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.mark.parametrize(
    "url", ["s3://k:s@b/x?region=r&scheme=http&endpoint_override=", "gs://anonymous@b/x?scheme=http&endpoint_override="]
)
def test_missing_store_server_is_reported(url: str, server: Callable[..., int]) -> None:
    port, silent = free(), server(None)
    with pytest.raises(StoredError, match=rf"cannot be read \(no way to 127.0.0.1:{port}: Connection refused\); check the bucket"):
        paths.names_of(f"{url}127.0.0.1:{port}")
    with pytest.raises(StoredError, match=rf"cannot be read \(no answer from 127.0.0.1:{silent} in 0.2 s\)"):
        paths.exists(f"{url}127.0.0.1:{silent}")
    for answer in (b"HTTP/1.0 403 Forbidden\r\n\r\n", b""):
        assert paths._with_retry_limit(f"{url}127.0.0.1:{server(answer)}").startswith(url)


def test_missing_name_node_is_reported() -> None:
    with pytest.raises(StoredError, match=r"no way to 127\.0\.0\.1:\d+: Connection refused\); check the address"):
        paths.file_system(f"hdfs://127.0.0.1:{free()}/x")
    assert paths._with_retry_limit("hdfs://nameservice/x") == "hdfs://nameservice/x", "a name of several servers is the library's affair"


def test_message_of_address_is_kept(server: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    port = server(b"HTTP/1.0 200 OK\r\n\r\n")
    given = f"gs://b/x?endpoint_override=127.0.0.1:{port}"
    assert paths._with_retry_limit(given) == f"{given}&retry_limit_seconds={paths.ANSWER_SECONDS}"
    assert paths._with_retry_limit("gs://b/x?retry_limit_seconds=900") == "gs://b/x?retry_limit_seconds=900"
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    assert paths._with_retry_limit("gs://b/x") == f"gs://b/x?retry_limit_seconds={paths.ANSWER_SECONDS}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free()}")
    with pytest.raises(OSError, match="Connection refused"):
        paths._with_retry_limit("s3://b/x")
    monkeypatch.setattr(paths, "getproxies", lambda: {"http": "http://proxy"})
    assert paths._with_retry_limit("s3://b/x") == "s3://b/x", "a proxy may know the way"


def test_long_message_of_google_library_is_shortened() -> None:
    said = "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of no host error_info={reason=, metadata={a=b}})"
    with pytest.raises(StoredError) as caught, paths.readable("gs://b/x"):
        raise OSError(said)
    assert caught.value.problem == "cannot be read (no host)"


def test_one_reachable_master_suffices(server: Callable[..., int]) -> None:
    port, away = server(None), [free(), free()]
    session._check_master(f"spark://127.0.0.1:{away[0]},127.0.0.1:{port}")
    refused = ", ".join(f"no way to 127.0.0.1:{port}: Connection refused" for port in away)
    with pytest.raises(TraceError, match=f"gives no session: {refused}; check the URL"):
        session._check_master(f"spark://127.0.0.1:{away[0]},127.0.0.1:{away[1]}")


def test_secret_in_address_is_hidden() -> None:
    said = str(
        StoredError("s3://KEY:SECRET@bucket/store", "cannot be read (s3://KEY:SECRET@bucket is not there)", "look at hdfs://host:8020/a")
    )
    assert "SECRET" not in said and said.startswith("s3://KEY:…@bucket/store: cannot") and "hdfs://host:8020/a" in said
