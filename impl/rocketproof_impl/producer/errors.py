"""The client's exceptions other than network errors, and its own response codes."""

from __future__ import annotations

from typing import Final

from ..remoting.errors import RemotingError

CONNECT_BROKER_EXCEPTION: Final = 10001
ACCESS_BROKER_TIMEOUT: Final = 10002
BROKER_NOT_EXIST_EXCEPTION: Final = 10003
NO_NAME_SERVER_EXCEPTION: Final = 10004
NOT_FOUND_TOPIC_EXCEPTION: Final = 10005


class ClientError(Exception):
    """MQClientException: the client rejects the message or gives up. `code` is -1 if none is set."""

    def __init__(self, message: str, code: int = -1) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class BrokerError(Exception):
    """MQBrokerException: a response with an error code."""

    def __init__(self, code: int, remark: str | None) -> None:
        super().__init__(f"CODE: {code}  DESC: {remark}")
        self.code = code
        self.remark = remark


class TooMuchRequest(RemotingError):
    """RemotingTooMuchRequestException: the timeout expired before the request was sent."""
