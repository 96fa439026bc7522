"""A short name for a person's browser and system, such as `Firefox, Linux`, from the User-Agent header.

The names come only from the tables here, so no text of the client is stored or shown.
"""

from __future__ import annotations

from collections.abc import Mapping

LOOKED_AT = 500  # characters

# The first match counts: most browsers also name the browsers that they descend from.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("YaBrowser", "Yandex Browser"),
    ("SamsungBrowser", "Samsung Internet"),
    ("FxiOS", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("python", "Python"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def named(meta: Mapping[str, object]) -> str:
    """The name for the request with this META: browser and system, one of the two, or an empty text."""
    agent = str(meta.get("HTTP_USER_AGENT", ""))[:LOOKED_AT]
    return ", ".join(name for name in (_first(agent, BROWSERS), _first(agent, SYSTEMS)) if name)


def _first(agent: str, table: tuple[tuple[str, str], ...]) -> str:
    return next((name for mark, name in table if mark in agent), "")
