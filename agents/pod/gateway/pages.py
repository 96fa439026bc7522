"""The pod's pages as bytes: own assets, strict content policy, all values escaped, nothing from elsewhere."""

from __future__ import annotations

import base64
import functools
import hashlib
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from aiohttp import web

from agents.pod.gateway.pod import Pod
from agents.pod.gateway.texts import texts

_ASSETS = Path(__file__).parent / "assets"
_POLICY = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src 'self'"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# A page that waits for the engine looks again this often.
LOOK_AGAIN_SECONDS = 3

SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not no-referrer: browsers would then send `Origin: null` with the sign-in form.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Asset:
    body: bytes
    content_type: str
    etag: str


@functools.cache
def assets() -> dict[str, Asset]:
    """What `/assets/<name>` serves."""
    whole = {
        "chat.css": _read("base.css") + _read("chat.css"),
        "chat.js": _read("chat.js"),
        "icon.svg": _read("icon.svg"),
    }
    return {
        name: Asset(text.encode(), _TYPES[Path(name).suffix], hashlib.sha256(text.encode()).hexdigest()[:32])
        for name, text in whole.items()
    }


def chat(pod: Pod, *, with_dashboard: bool) -> web.Response:
    words = _words(pod) | {"console_url": _link(pod.start.console_url), "initial": pod.config.name[:1].upper()}
    page = _fill("chat.html", words, dashboard=_fill("dashboard_link.html", words) if with_dashboard else "")
    policy = f"{_POLICY}; script-src 'self'; style-src 'self'; connect-src 'self'"
    return _html(page, policy)


def login(pod: Pod, *, status: int = 200, problem: str = "") -> web.Response:
    """The sign-in form. `problem` is the name of a text."""
    words = _words(pod)
    return _notice(pod, status, "login_title", _fill("login.html", words, problem=escape(words.get(problem, ""))))


def notice(pod: Pod, status: int, page: str, *, text: str = "") -> web.Response:
    """One of the texts `<page>_title`, `<page>_text`, with a way to the console."""
    words = _words(pod)
    said = escape(text or words[f"{page}_text"])
    link = f'<a class="button" href="{escape(_link(pod.start.console_url))}">{escape(words["console"])}</a>'
    waits = page == "starting"
    body = f"<p>{said}</p>" + ('<div class="wait" role="presentation"></div>' if waits else f"<p>{link}</p>")
    return _notice(pod, status, f"{page}_title", body, refresh=LOOK_AGAIN_SECONDS if waits else None)


def _notice(pod: Pod, status: int, title: str, body: str, *, refresh: int | None = None) -> web.Response:
    """Whole in one document, so that it can be shown while everything else is refused."""
    words, style = _words(pod), _read("base.css") + _read("notice.css")
    again = f'<meta http-equiv="refresh" content="{refresh}">' if refresh else ""
    page = _fill("notice.html", words, title=escape(words[title]), body=body, style=style, refresh=again)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _html(page, f"{_POLICY}; style-src 'sha256-{digest}'", status=status)


def _html(page: str, policy: str, *, status: int = 200) -> web.Response:
    headers = {"Content-Security-Policy": policy}
    return web.Response(text=page, status=status, content_type="text/html", headers=headers)


def _words(pod: Pod) -> dict[str, str]:
    return {**texts(pod.config.lang, name=pod.config.name), "name": pod.config.name}


def _fill(template: str, words: dict[str, str], **markup: str) -> str:
    """Words are escaped here, markup is taken as it is."""
    escaped = {name: escape(word) for name, word in words.items()}
    return Template(_read(template)).substitute(escaped | markup)


def _link(url: str) -> str:
    """Only web addresses become links."""
    return url if url.startswith(("http://", "https://")) else "/"


@functools.cache
def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
