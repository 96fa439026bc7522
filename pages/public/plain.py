"""Makes texts of authors safe where no markup contains them: titles, descriptions, structured data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from django.utils.safestring import SafeString
from django.utils.text import Truncator

DESCRIPTION_LENGTH = 200
# Control characters, line and paragraph separators, and characters that change the text direction.
_UNRULY = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def line(text: str) -> str:
    """The text as one line, without characters that affect the text around it."""
    return " ".join(_UNRULY.sub(" ", text).split())


def description(text: str) -> str:
    return Truncator(line(text)).chars(DESCRIPTION_LENGTH)


def json_ld(content: Mapping[str, Any]) -> SafeString:
    """JSON that cannot close the script element around it."""
    document = {"@context": "https://schema.org", **content}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)
    return SafeString(text.translate(_ESCAPES))
