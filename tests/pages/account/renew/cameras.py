"""A camera: takes the QR code out of a page and reads it with a reader of bar codes."""

from __future__ import annotations

import re
import struct
import zlib

import zxingcpp

from tests.pages.page import Page

SCALE = 4  # pixels per module


def seen_by_camera(page: Page) -> str:
    """The text of the page's only QR code; the lines of the SVG become pixels."""
    drawing = page.one("svg").attributes
    ground, lines = page.all("path")
    size = int(drawing["viewbox"].split()[2])
    assert ground.attributes["fill"] == "#fff"
    dark = _modules(lines.attributes["d"])
    side = size * SCALE
    rows = [bytes(0 if (x, y) in dark else 255 for x in range(size) for _ in range(SCALE)) for y in range(size)]
    return _read(b"".join(row * SCALE for row in rows), side, side)


def seen_on_screen(png: bytes) -> str:
    """The text of the only QR code in a screenshot."""
    width, height, kind = struct.unpack(">II x B", png[16:26])
    channels = {2: 3, 6: 4}[kind]
    rows, before = bytearray(), bytearray(width * channels)
    data, length = zlib.decompress(_chunks(png)), width * channels + 1
    for start in range(0, length * height, length):
        before = _unfiltered(data[start], bytearray(data[start + 1 : start + length]), before, channels)
        rows += before[1::channels]  # the green channel is used as brightness
    return _read(bytes(rows), width, height)


def _read(pixels: bytes, width: int, height: int) -> str:
    (found,) = zxingcpp.read_barcodes(memoryview(pixels).cast("B", (height, width)))
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    return str(found.text)


def _chunks(png: bytes) -> bytes:
    found, at = b"", 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        found += png[at + 8 : at + 8 + length] if name == b"IDAT" else b""
        at += length + 12
    return found


def _unfiltered(kind: int, row: bytearray, above: bytearray, channels: int) -> bytearray:
    """The real pixels of a PNG row, which contains only differences from neighbouring pixels."""
    for at, value in enumerate(row):
        left = row[at - channels] if at >= channels else 0
        corner = above[at - channels] if at >= channels else 0
        guess = (0, left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))[kind]
        row[at] = (value + guess) & 255
    return row


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))


def _modules(path: str) -> set[tuple[int, int]]:
    """The squares that the pen draws: `M` moves to a point, `m` moves by a distance, `h` draws."""
    dark, x, y = set(), 0.0, 0.0
    for verb, numbers in re.findall(r"([Mmh])([^Mmh]*)", path):
        values = [float(one) for one in re.findall(r"-?[\d.]+", numbers)]
        if verb == "M":
            x, y = values
        elif verb == "m":
            x, y = x + values[0], y + values[1]
        else:
            dark |= {(int(x) + step, int(y)) for step in range(int(values[0]))}
            x += values[0]
    return dark
