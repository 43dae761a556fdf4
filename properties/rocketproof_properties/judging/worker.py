"""A process that judges histories: it reads tasks from its input and writes each result to its output, both pickled.

It is started by `apart.py`, as a command of its own. A process of `multiprocessing` would run the caller's script again.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
from typing import BinaryIO

from .judging import judge_file


def serve(tasks: BinaryIO, results: BinaryIO) -> None:
    """Judge until the input ends. A result has the judged program and its CPU-seconds; it is None if judging fails."""
    while True:
        try:
            path, profile, bound = pickle.load(tasks)
        except EOFError:
            return
        began = time.process_time()
        try:
            data = pickle.dumps((judge_file(path, profile, bound=bound), time.process_time() - began))
        except Exception:  # noqa: BLE001  (the process that asked judges this history itself, and raises the same error)
            data = pickle.dumps(None)
        results.write(data)
        results.flush()


if __name__ == "__main__":
    logging.disable()
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what judging prints does not belong to the results
    serve(sys.stdin.buffer, output)
