"""Where Spark runs: on this machine, on the cluster of a master, or behind a Spark Connect server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..common.errors import TraceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkCluster:
    """Where Spark runs, and with which properties.

    - `master`, `remote`: the URL of a master or of a Spark Connect server. Default: this machine.
    - `cores`: the number of cores to use. Default: all.
    - `conf`: Spark's properties as texts KEY=VALUE.
    - `environment`: an archive with the Python of the workers.
    - `scratch`: the folder that driver and workers of a search share. Default: the folder for temporary files.
    """

    master: str | None = None
    remote: str | None = None
    cores: int | None = None
    conf: tuple[str, ...] = ()
    environment: Path | None = None
    scratch: Path | None = None

    @property
    def is_named(self) -> bool:
        """Whether a cluster or a server is named."""
        return bool(self.master or self.remote)

    def session(self) -> SparkSession:
        """Return the Spark session, created by the first call. Raises TraceError if no session can be created."""
        from .session import session

        return session(self.master, self.remote, self.cores, properties_of(self.conf), self.environment)


def properties_of(texts: Sequence[str]) -> dict[str, str]:
    """Return Spark's properties from texts KEY=VALUE. Raises TraceError for a text of another form."""
    properties = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            raise TraceError(f"--conf {text}", "is no property of Spark", "give KEY=VALUE, such as spark.executor.memory=4g")
        properties[name] = value
    return properties


def is_cluster(master: str | None) -> bool:
    """Return whether the workers of a master are processes with folders and an environment of their own."""
    return master is not None and (master.startswith("local-cluster") or not master.startswith("local"))
