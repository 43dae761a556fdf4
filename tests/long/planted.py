"""Ten faults of different kinds, planted into a served broker, each with the item of the suite that has to notice it, and its text.

The texts are kept in `snapshots/`; run with ROCKETPROOF_SNAPSHOTS=write to write them anew. What differs from run to run is masked: ports,
places in the log, how many programs, and names of files.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

SNAPSHOTS: Final = Path(__file__).parent / "snapshots"
PLANTED: Final = {
    "M-01": "CHK-10",
    "M-15a": "CHK-02",
    "M-18": "CHK-03",
    "M-24": "TCM-15",
    "M-29": "specification.topics",
    "M-67": "INV-03",
    "M-76a": "SEND-25",
    "M-85a": "INV-41",
    "M-87": "INV-43",
    "M-105": "INV-48",
}
"""The item by the fault."""
_MASKS: Final = (
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"record(?: at)? \d+", "record at PLACE"),
    (r"the id [0-9A-F]{32}", "the id ID"),
    (r"\boffset \d{3,}", "offset PLACE"),
    (r"came \d of", "came N of"),
    (r"in \d+ of \d+ programs", "in N of M programs"),
    (r"\S*/(smallest|histories|programs|pages)/", r"DIR/\1/"),
    (r"\d{5}\.ndjson", "N.ndjson"),
    (r"finding-\d+", "finding-N"),
)


def masked(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, shown in _MASKS:
        text = re.sub(pattern, shown, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


def kept(fault: str, text: str) -> str:
    """The snapshot of a fault's text, which is this one if snapshots are written."""
    path = SNAPSHOTS / f"suite-{fault}.txt"
    if os.environ.get("ROCKETPROOF_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return path.read_text("utf-8")
