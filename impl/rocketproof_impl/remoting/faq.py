"""The last line of several error messages for users."""

from __future__ import annotations

from rocketproof_profiles import PROFILES


def suggestion(address: str = PROFILES["P49"].faq) -> str:
    """Return the reference to further help. `address` is the profile's `faq`; the default is that of clients up to 4.9."""
    return f"\nSee {address} for further details."
