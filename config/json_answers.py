"""JSON of the API's answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
_FALLBACK = JSONEncoder().default  # lazy texts, decimals, querysets


def encoded(body: Any) -> bytes:
    """The JSON, which is also JavaScript: that knows two characters as ends of lines. Raises orjson.JSONEncodeError."""
    text = orjson.dumps(body, default=_FALLBACK, option=_OPTIONS)
    return text.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")


class QuickJsonRenderer(JSONRenderer):
    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        if data is None:
            return b""
        try:
            return encoded(data)
        except orjson.JSONEncodeError:  # such as a number of more than 64 bits
            return bytes(super().render(data, accepted_media_type, renderer_context))
