"""Why a call got no answer."""

from __future__ import annotations


class RemotingError(Exception):
    """A request failed below the level of answers."""


class ConnectFailed(RemotingError):
    """Nobody listens at the address."""


class SendFailed(RemotingError):
    """The request could not be written."""


class TimedOut(RemotingError):
    """No answer came in time; the request may still have been served."""
