"""The frame around the content of every page."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.templatetags.static import static

from pages.languages import Alternate, Language, address


def around(language: Language, alternates: list[Alternate]) -> dict[str, Any]:
    return {
        "language": language,
        "home": address("", language),
        "alternates": alternates,
        "style": stamped("catalog/pages.css"),
        "icon": static("catalog/icon.svg"),
    }


@functools.cache
def stamped(asset: str) -> str:
    """The address of a static file. The address changes when the content changes."""
    content = Path(str(finders.find(asset))).read_bytes()
    return f"{static(asset)}?{hashlib.sha256(content).hexdigest()[:12]}"
