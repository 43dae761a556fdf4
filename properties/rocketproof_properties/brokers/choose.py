"""The target that a user names: an address, a release of Apache RocketMQ, the implementation, or a file with a description."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rocketproof_profiles import PROFILES

from ..reports.choices import InputError, known, offer
from .address import AddressTarget
from .deployment import ValidationTarget
from .forms import KINDS, TargetForm, form_of, is_address, parts_of

_PROFILE: Final = "P494"


def choose(address: str | None, target: str | None, profile: str | None, *, configure: bool, option: str = "--target") -> ValidationTarget:
    """Return the target that the user has named with this option. Raises InputError for an invalid target, or for two targets."""
    if (address is None) == (target is None):
        raise InputError("give either the address of a broker, such as 127.0.0.1:10911, or --target, such as --target apache:4.9.4")
    if target is None:
        return AddressTarget([str(address)], profile=profile or "P49", may_configure=configure)
    match form_of(target):
        case TargetForm("apache", release):
            from .apache import Apache

            return Apache(release, profile=profile)
        case TargetForm("pair", pair):
            from .apache import Apache

            broker, name_server = _releases(f"{option} {pair}", pair)
            return Apache(broker, name_server=name_server, profile=profile)
        case TargetForm("served", named):
            from .served import Served

            return Served(profile or _profile(named))
        case TargetForm("inprocess", named):
            from .inprocess import InProcess

            return InProcess(profile or _profile(named))
        case TargetForm("file", path):
            from .command import CommandTarget

            described: ValidationTarget = CommandTarget(Path(path))
            if profile is not None:
                described.profile = profile
            return described
    raise InputError(f"{option} {target}: {offer(target, KINDS)}")


def _profile(named: str) -> str:
    return known("profile", named, PROFILES) if named else _PROFILE


def in_place_of(target: str | None, pair: str | None) -> str | None:
    """Return the target's text; `--pair` can replace `--target`. Raises InputError if both are given, or if `pair` is not a pair."""
    if pair is None:
        return target
    if target is not None:
        raise InputError("--pair and --target both say what to start; give one of them")
    _releases(f"--pair {pair}", pair)
    return pair


def _releases(where: str, pair: str) -> tuple[str, str]:
    try:
        return parts_of(pair)
    except ValueError as problem:
        raise InputError(f"{where}: {problem}") from None


def choose_named(where: str, profile: str | None, option: str = "--target", *, configure: bool = False) -> ValidationTarget:
    """Return the target for a text of any form. Brokers that already run keep their settings, unless `configure` allows changes.

    Raises InputError that names the option.
    """
    if is_address(where):
        return choose(where, None, profile, configure=configure)
    return choose(None, where, profile, configure=configure, option=option)
