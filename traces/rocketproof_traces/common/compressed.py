"""Read text files, plain or compressed with gzip, bzip2, xz or Zstandard, recognised by their first bytes.

The text before a damaged place is read.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO

_CHUNK = 1 << 16


class DamagedStreamError(OSError):
    """Compressed data are cut off or damaged; `strerror` states which."""


def open_text(path: str | Path) -> TextIO:
    """Open a file as UTF-8 text; only a line feed ends a line. Raises OSError, and DamagedStreamError while it is read."""
    file = Path(path).open("rb")  # noqa: SIM115  (the text that is returned closes it)
    try:
        name = _name(file.peek(8))
        data = file if name is None else io.BufferedReader(_Inflated(name, _KINDS[name][1](file), file), _CHUNK)
    except BaseException:
        file.close()
        raise
    return io.TextIOWrapper(data, encoding="utf-8", newline="\n")


def is_compressed(path: str | Path) -> bool:
    """Whether a file is compressed in a known format. Raises OSError."""
    with Path(path).open("rb") as file:
        return _name(file.peek(8)) is not None


def _name(head: bytes) -> str | None:
    return next((name for name, (magic, _) in _KINDS.items() if head.startswith(magic)), None)


def _zstd(file: BinaryIO) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


_KINDS: Mapping[str, tuple[bytes, Callable[[BinaryIO], Any]]] = {
    "gzip": (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    "bzip2": (b"BZh", bz2.BZ2File),
    "xz": (b"\xfd7zXZ\0", lzma.LZMAFile),
    "zstd": (b"\x28\xb5\x2f\xfd", _zstd),
}


class _Inflated(io.RawIOBase):
    """The bytes from a decompressor, with one error type for all of its failures."""

    def __init__(self, name: str, stream: Any, file: BinaryIO) -> None:
        self._name, self._stream, self._file = name, stream, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            data: bytes = self._stream.read1(len(buffer))
        except EOFError:
            raise DamagedStreamError(errno.EIO, f"its {self._name} data are cut off") from None
        except (OSError, lzma.LZMAError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of the disk, not of the decompressor
            cut = "runcated" in str(error)
            raise DamagedStreamError(errno.EIO, f"its {self._name} data are {'cut off' if cut else 'damaged'}") from None
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._file.close()
        super().close()
