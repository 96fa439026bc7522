"""A camera: takes the drawing out of a page, puts it before a reader of bar codes, and tells what that reads."""

from __future__ import annotations

import re

import zxingcpp

from tests.catalog.pages.page import Page

SCALE = 4  # pixels of a module


def seen_by_camera(page: Page) -> str:
    """What the page's one QR code says; lines of the SVG become pixels."""
    drawing = page.one("svg").attributes
    ground, lines = page.all("path")
    size = int(drawing["viewbox"].split()[2])
    assert ground.attributes["fill"] == "#fff"
    dark = _modules(lines.attributes["d"])
    rows = [bytes(0 if (x, y) in dark else 255 for x in range(size) for _ in range(SCALE)) for y in range(size)]
    pixels = b"".join(row * SCALE for row in rows)
    side = size * SCALE
    (found,) = zxingcpp.read_barcodes(memoryview(pixels).cast("B", (side, side)))
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    return str(found.text)


def _modules(path: str) -> set[tuple[int, int]]:
    """The squares that the pen goes over: `M` to a place, `m` by so much, `h` draws."""
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
