"""The line that several texts for users end with."""

from __future__ import annotations

from rocketproof_profiles import PROFILES


def suggestion(address: str = PROFILES["P49"].faq) -> str:
    """Where to read on; `address` is the profile's `faq`, and by default what clients up to 4.9 say."""
    return f"\nSee {address} for further details."
