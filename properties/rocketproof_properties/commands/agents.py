"""The command `mcp`, which offers other commands as tools to an agent."""

from __future__ import annotations

from pathlib import Path

from ..reports.choices import InputError
from ..reports.exitcode import OK
from .common import Flag


def mcp(*, folder: Path = Path(), execute: Flag = False, beyond_this_machine: Flag = False) -> int:
    """Serve check, explain, hazard, judge, validate and run as tools for an agent, by the Model Context Protocol.

    The tools read files of one folder, use brokers of this machine, and write nothing but caches and temporary files.

    Parameters
    ----------
    folder
        The start folder. Files outside are rejected. Default: the current folder.
    execute
        Allow models and programs, which are Python files and run with your rights, and targets that start other programs.
    beyond_this_machine
        Allow brokers on other machines.
    """
    if not folder.is_dir():
        raise InputError(f"--folder {folder} is no folder; give an existing one")
    from .agent import server

    server.serve(folder, execute=execute, beyond=beyond_this_machine)
    return OK
