"""Reasons why a call got no response."""

from __future__ import annotations


class RemotingError(Exception):
    """A request failed without a response."""


class ConnectFailed(RemotingError):
    """No server listens at the address."""


class SendFailed(RemotingError):
    """The request could not be written."""


class TimedOut(RemotingError):
    """No response arrived in time. The request may still have been served."""
