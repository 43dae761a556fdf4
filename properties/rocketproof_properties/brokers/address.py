"""A target that already runs somewhere: only its address, and what may be asked there. Nothing of it is started or ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from rocketproof_protocol.codes import REQUEST_CODE_NOT_SUPPORTED

from ..programs.parts import Capability
from ..programs.vocabulary import plain
from ..reports.choices import InputError
from . import probe
from .deployment import DEFAULT, Deployment, NotOffered, Setup, ValidationTarget, bare
from .forms import host_and_port
from .processes import configure

_Seen = TypeVar("_Seen")
_FIRST: Final = 212  # the number of 4.0.0's snapshot; from there on each release has two numbers, each minor version ten releases


def version_name(number: int) -> str:
    """The release that a number in a frame's header stands for, "" for those before 4.0.0."""
    if number <= _FIRST:
        return ""
    major, rest = divmod(number - _FIRST, 200)
    minor, rest = divmod(rest, 20)
    return f"{4 + major}.{minor}.{rest // 2}" + ("" if rest % 2 else "-SNAPSHOT")


class AddressTarget(ValidationTarget):
    """Brokers by the address of their name server, or by their own. `may_configure`: their settings may be changed.

    Raises InputError for what is not an address.
    """

    def __init__(self, addresses: Sequence[str], *, profile: str = "P49", may_configure: bool = False) -> None:
        for address in addresses:
            try:
                host_and_port(address)
            except ValueError as problem:
                raise InputError(str(problem)) from None
        self._addresses = tuple(addresses)
        self.name = ",".join(addresses)
        self.profile = profile
        self.version = ""
        self.offers = frozenset({Capability.CONFIGURE}) if may_configure else frozenset()

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        """Ask whether somebody is there. A setup with other settings is refused; the number of brokers is what it is."""
        bare(self.name, setup)
        name_server, brokers = _again(partial(_found, self._addresses))
        for address in brokers.values():
            _again(partial(probe.broker, address))
        self.version = version_name(_again(partial(probe.ask, next(iter(brokers.values())), probe.question())).version)
        return _Elsewhere(self, name_server, brokers)


def _again(look: Callable[[], _Seen]) -> _Seen:
    """Look once more where no answer came: one that was lost on its way says nothing of the target."""
    try:
        return look()
    except probe.Silent:
        return look()


def _found(addresses: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The name server, if the one address is that of one, and the brokers."""
    answer = probe.ask(addresses[0], plain("cluster"))
    if answer.code != REQUEST_CODE_NOT_SUPPORTED:
        if len(addresses) > 1:
            raise InputError(f"{addresses[0]} is a name server; give its address alone, or only addresses of brokers")
        return addresses[0], probe.cluster(addresses[0])
    return None, {f"broker-{chr(ord('a') + number)}": address for number, address in enumerate(addresses)}


class _Elsewhere(Deployment):
    def __init__(self, target: AddressTarget, name_server: str | None, brokers: Mapping[str, str]) -> None:
        self.name, self.offers = target.name, target.offers
        self.name_server, self.brokers = name_server, brokers

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        if Capability.CONFIGURE not in self.offers:
            raise NotOffered(self.name, Capability.CONFIGURE)
        configure(self.brokers[broker], settings)

    def close(self) -> None:
        """Nothing was begun."""
