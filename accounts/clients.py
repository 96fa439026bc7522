"""What a person signs in with, in words: the browser and the system that its User-Agent names, and nothing finer.

The words come from the tables here alone, so nothing that a client sends is stored or shown.
"""

from __future__ import annotations

from collections.abc import Mapping

LOOKED_AT = 500  # characters

# The first that is there counts: most browsers also name those that they descend from.
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
    """Of the request with this META: `Firefox, Linux`, one of the two, or nothing."""
    agent = str(meta.get("HTTP_USER_AGENT", ""))[:LOOKED_AT]
    return ", ".join(name for name in (_first(agent, BROWSERS), _first(agent, SYSTEMS)) if name)


def _first(agent: str, table: tuple[tuple[str, str], ...]) -> str:
    return next((name for mark, name in table if mark in agent), "")
