"""A gzip body made of parts is valid for every reader of gzip."""

from __future__ import annotations

import gzip
import zlib

from hypothesis import given
from hypothesis import strategies as st

from catalog.views import gzipped


@given(st.lists(st.binary(max_size=2_000), max_size=20))
def test_the_parts_are_one_member_that_unpacks_to_the_whole(parts: list[bytes]) -> None:
    whole = b"".join(parts)
    body = b"".join(gzipped.joined(parts, [gzipped.part(part) for part in parts]))
    assert gzip.decompress(body) == whole
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert unpack.decompress(body) == whole
    assert unpack.eof
    assert unpack.unused_data == b""


def test_parts_fit_in_any_order() -> None:
    parts = {text: gzipped.part(text * 500) for text in (b"one", b"two", b"three")}
    for order in ((b"three", b"one", b"two"), (b"two", b"two")):
        whole = [text * 500 for text in order]
        body = b"".join(gzipped.joined(whole, [parts[text] for text in order]))
        assert gzip.decompress(body) == b"".join(whole)
