"""The scopes that the cover drives: all that requests can take transitions of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from . import sending, smallmodels
from .statespace import OutsideModel

Parts = Callable[[str], Iterator[OutsideModel]]
"""Returns the parts of a scope under a profile."""

DRIVEN: Final[Mapping[str, Parts]] = {
    **{name: partial(sending.parts, name) for name in sending.DRIVEN},
    **smallmodels.DRIVEN,
}
"""The parts of each scope that is driven."""

OWN: Final = frozenset({sending.SUBJECT, "B", sending.GROUP, smallmodels.RETRY, smallmodels.BROKER})
"""The names in steps that belong to one path."""

NAME_SERVER_SCOPES: Final = frozenset({"registrations", "told"})
"""The scopes whose requests go to a name server."""
