"""A running target that is known only by its address. It is never started or stopped from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from rocketproof_protocol.codes import REQUEST_CODE_NOT_SUPPORTED

from ..programs.parts import Capability
from ..programs.vocabulary import plain
from ..reports.choices import InputError
from . import probe
from .deployment import DEFAULT, Deployment, NotOffered, Setup, ValidationTarget, require_no_setup
from .forms import host_and_port
from .processes import configure

_Result = TypeVar("_Result")
_FIRST: Final = 212  # 4.0.0-SNAPSHOT; after it each release has two numbers, and each minor version ten releases


def version_name(number: int) -> str:
    """Return the release for the version number in a frame header, "" before 4.0.0."""
    if number <= _FIRST:
        return ""
    major, rest = divmod(number - _FIRST, 200)
    minor, rest = divmod(rest, 20)
    return f"{4 + major}.{minor}.{rest // 2}" + ("" if rest % 2 else "-SNAPSHOT")


class AddressTarget(ValidationTarget):
    """Brokers at the address of their name server, or at their own addresses. `may_configure`: their settings may be changed.

    Raises InputError for a text that is not an address.
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
        """Check that the parts answer. Rejects a setup with other settings; the number of brokers stays as it is."""
        require_no_setup(self.name, setup)
        name_server, brokers = _with_retry(partial(_parts_at, self._addresses))
        for address in brokers.values():
            _with_retry(partial(probe.broker, address))
        self.version = version_name(_with_retry(partial(probe.ask, next(iter(brokers.values())), probe.question())).version)
        return _RemoteDeployment(self, name_server, brokers)


def _with_retry(query: Callable[[], _Result]) -> _Result:
    """Query again if there was no response: a single lost response does not make the target unavailable."""
    try:
        return query()
    except probe.Silent:
        return query()


def _parts_at(addresses: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """Return the name server, if the first address is one, and the brokers."""
    answer = probe.ask(addresses[0], plain("cluster"))
    if answer.code != REQUEST_CODE_NOT_SUPPORTED:
        if len(addresses) > 1:
            raise InputError(f"{addresses[0]} is a name server; give its address alone, or only addresses of brokers")
        return addresses[0], probe.cluster(addresses[0])
    return None, {f"broker-{chr(ord('a') + number)}": address for number, address in enumerate(addresses)}


class _RemoteDeployment(Deployment):
    def __init__(self, target: AddressTarget, name_server: str | None, brokers: Mapping[str, str]) -> None:
        self.name, self.offers = target.name, target.offers
        self.name_server, self.brokers = name_server, brokers

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        if Capability.CONFIGURE not in self.offers:
            raise NotOffered(self.name, Capability.CONFIGURE)
        configure(self.brokers[broker], settings)

    def close(self) -> None:
        """Do nothing: no resource was opened."""
