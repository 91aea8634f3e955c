"""Reads chosen files of a tar archive into memory; nothing is written to disk.

Only plain members are taken, by their exact names; links, devices and extended headers are
passed over. The format is POSIX's ustar (IEEE Std 1003.1, pax, section "ustar Interchange
Format").
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final

from vkml.data.published import UNREADABLE, DataError, open_file, read_up_to

_BLOCK: Final = 512
_PIECE: Final = 1 << 20
_PLAIN: Final = b"0\0"
MOST_BYTES: Final = 2**30
"""Unpacked size of an archive."""


def read_members(path: Path, limits: Mapping[str, int]) -> dict[str, bytearray]:
    """Give the contents of the members that `limits` names, with the most bytes of each.

    Raises DataError where one is missing, doubled, too large or not a plain file, and where the
    archive is corrupt or truncated.
    """
    found: dict[str, bytearray] = {}
    try:
        with open_file(path) as file:
            _read(path, file, limits, found)
    except UNREADABLE as error:
        raise DataError(f"{path}: cannot be unpacked: {error}") from error
    if missing := [name for name in limits if name not in found]:
        raise DataError(f"{path}: has no {', '.join(missing)}")
    return found


def _read(
    path: Path, file: BinaryIO, limits: Mapping[str, int], found: dict[str, bytearray]
) -> None:
    """Go through the members; the archive ends with blocks of zeros."""
    left = MOST_BYTES
    while any(header := bytes(_exactly(path, file, _BLOCK))):
        name, size, kind = _parse(path, header)
        left -= _BLOCK + size
        if left < 0:
            raise DataError(f"{path}: unpacks to more than {MOST_BYTES:,} bytes")
        if name in limits:
            _check(f"{path}: {name}", kind, size, limits[name], is_new=name not in found)
            found[name] = _exactly(path, file, size)
        _skip(path, file, -size % _BLOCK + (0 if name in limits else size))
    while piece := len(file.read(_PIECE)):  # to the end, where gzip has a checksum of all this
        left -= piece
        if left < 0:
            raise DataError(f"{path}: unpacks to more than {MOST_BYTES:,} bytes")


def _check(what: str, kind: bytes, size: int, most: int, *, is_new: bool) -> None:
    if kind not in _PLAIN:
        raise DataError(f"{what} is not a plain file")
    if size > most:
        raise DataError(f"{what} has {size:,} bytes, the limit is {most:,}")
    if not is_new:
        raise DataError(f"{what} is there twice")


def _parse(path: Path, header: bytes) -> tuple[str, int, bytes]:
    """Give name, size and type of a member, whose header has a sum of its own bytes."""
    kind = header[156:157]
    try:
        size, told = (int(header[a:b].strip(b"\0 "), 8) for a, b in ((124, 136), (148, 156)))
    except ValueError:
        raise DataError(f"{path}: is not a tar archive, or corrupt") from None
    if size < 0 or told != sum(header[:148]) + 8 * ord(" ") + sum(header[156:]):
        raise DataError(f"{path}: is not a tar archive, or corrupt")
    parts = (header[345:500], header[:100]) if header[257:263] == b"ustar\0" else (header[:100],)
    name = "/".join(part.partition(b"\0")[0].decode("latin-1") for part in parts if part[0])
    return name.removeprefix("./"), 0 if kind in b"123456" else size, kind


def _exactly(path: Path, file: BinaryIO, size: int) -> bytearray:
    data = read_up_to(file, size)
    if len(data) < size:
        raise DataError(f"{path}: is truncated")
    return data


def _skip(path: Path, file: BinaryIO, size: int) -> None:
    while size:
        piece = len(file.read(min(size, _PIECE)))
        if not piece:
            raise DataError(f"{path}: is truncated")
        size -= piece
