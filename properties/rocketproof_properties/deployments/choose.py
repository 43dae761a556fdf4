"""Which target a user means: an address, a release of Apache RocketMQ, the implementation itself, or a file that describes one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..choices import InputError, offer
from .address import AddressTarget
from .deployment import Target
from .forms import KINDS, form_of

_PROFILE: Final = "P494"


def choose(address: str | None, target: str | None, profile: str | None, *, configure: bool) -> Target:
    """The target. Raises InputError for one that is none, or for two at a time."""
    if (address is None) == (target is None):
        raise InputError("give either the address of a broker, such as 127.0.0.1:10911, or --target, such as --target apache:4.9.4")
    if target is None:
        return AddressTarget([str(address)], profile=profile or "P49", may_configure=configure)
    form = form_of(target)
    if form is not None and form.kind == "apache":
        from .apache import Apache

        return Apache(form.rest, profile=profile)
    if form is not None and form.kind == "served":
        from .served import Served

        return Served(profile or form.rest or _PROFILE)
    if form is not None and form.kind == "inprocess":
        from .inprocess import InProcess

        return InProcess(profile or form.rest or _PROFILE)
    if form is not None and form.kind == "file":
        from .command import CommandTarget

        found: Target = CommandTarget(Path(target))
        if profile is not None:
            found.profile = profile
        return found
    raise InputError(f"--target {target}: {offer(target, KINDS)}")
