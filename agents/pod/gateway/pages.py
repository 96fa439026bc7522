"""Builds the pod's pages: only our own assets, a strict content security policy, all values escaped, nothing from other
sites.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from aiohttp import web

from agents.pod.gateway.pod import Pod
from agents.pod.gateway.words import texts

_ASSETS = Path(__file__).parent / "assets"
_POLICY = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src 'self'"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# A page that waits for the engine reloads after this many seconds.
LOOK_AGAIN_SECONDS = 3
FAILING_LOOK_AGAIN_SECONDS = 30

SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not no-referrer: with it, browsers would send `Origin: null` with the sign-in form.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


# Pages of the console, as paths below the console's address. A test opens them.
AGENT_PAGE = "/account/agents/{}"
KEY_PAGE = "/account/agents/{}/model-key"


@dataclass(frozen=True, slots=True)
class PageAsset:
    body: bytes
    packed: bytes  # compressed with gzip
    content_type: str
    etag: str


@functools.cache
def assets() -> dict[str, PageAsset]:
    """All files of `/assets/<name>`, by name."""
    whole = {
        "chat.css": _read("base.css") + _read("chat.css"),
        "chat.js": "\n".join(map(_read, ("conversations.js", "reading.js", "turn.js", "chat.js"))),
        "purify.js": _read("vendor/dompurify/purify.min.js"),
        "markdown.js": _read("vendor/markdown-it/markdown-it.umd.min.js") + "\n" + _read("markdown.js"),
        "icon.svg": _read("icon.svg"),
    }
    return {name: _asset(text.encode(), _TYPES[Path(name).suffix]) for name, text in whole.items()}


def _asset(body: bytes, content_type: str) -> PageAsset:
    return PageAsset(body, gzip.compress(body, mtime=0), content_type, hashlib.sha256(body).hexdigest()[:32])


def chat(pod: Pod, lang: str, *, with_dashboard: bool, is_owner: bool) -> web.Response:
    """The chat page. The owner gets links to the console. Others who know the password are told whom to ask."""
    words = _words(pod, lang)
    words |= {"initial": pod.config.name[:1].upper(), "words": _script_words(pod, lang, is_owner=is_owner)}
    page = _fill("chat.html", words, dashboard=_fill("dashboard_link.html", words) if with_dashboard else "")
    # The script's output goes through DOMPurify. This policy forbids that other text becomes markup, and that other
    # addresses become a worker.
    types = "require-trusted-types-for 'script'; trusted-types dompurify markdown"
    response = _html(page, lang, f"{_POLICY}; script-src 'self'; style-src 'self'; connect-src 'self'; {types}")
    # the browser does no DNS lookup for a link before somebody clicks it
    response.headers["X-DNS-Prefetch-Control"] = "off"
    return response


def _script_words(pod: Pod, lang: str, *, is_owner: bool) -> str:
    """The texts that the script shows, and the targets of its links, as JSON."""
    said = {name.removeprefix("chat_"): word for name, word in _words(pod, lang).items() if name.startswith("chat_")}
    console, agent = _link(pod.start.console_url).rstrip("/"), pod.start.agent_id
    pages = {"agent": console + AGENT_PAGE.format(agent), "key": console + KEY_PAGE.format(agent)}
    links = {**pages, "sign_in": pages["agent"]} if is_owner else {"sign_in": "/login"}
    own = {"lang": lang, "name": pod.config.name, "agent": agent, "links": links}
    return json.dumps({**said, **own}, ensure_ascii=False)


def login(pod: Pod, lang: str, *, status: int = 200, problem: str = "") -> web.Response:
    """The sign-in form. `problem` is the name of the text that says what is wrong, "" for none."""
    words = _words(pod, lang)
    form = _fill("login.html", words, problem=escape(words.get(problem, "")))
    return _notice(pod, lang, status, "login_title", form)


def notice(pod: Pod, lang: str, status: int, page: str, *, text: str = "") -> web.Response:
    """A page with the texts `<page>_title` and `<page>_text` and a link to the console. `text`, the English message of
    a refusal, replaces the second text.
    """
    words = _words(pod, lang)
    said = f'<p lang="en">{escape(text)}</p>' if text else f"<p>{escape(words[f'{page}_text'])}</p>"
    link = f'<a class="button" href="{escape(_link(pod.start.console_url))}">{escape(words["console"])}</a>'
    waits = page == "starting"
    body = said + ('<div class="wait" role="presentation"></div>' if waits else f"<p>{link}</p>")
    again = {"starting": LOOK_AGAIN_SECONDS, "failing": FAILING_LOOK_AGAIN_SECONDS}.get(page)
    return _notice(pod, lang, status, f"{page}_title", body, refresh=again)


def _notice(pod: Pod, lang: str, status: int, title: str, body: str, *, refresh: int | None = None) -> web.Response:
    """A page in a single document, with its style inside, so that it can be shown while all other
    requests are refused.
    """
    words, style = _words(pod, lang), _read("base.css") + _read("notice.css")
    again = f'<meta http-equiv="refresh" content="{refresh}">' if refresh else ""
    page = _fill("notice.html", words, title=escape(words[title]), body=body, style=style, refresh=again)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _html(page, lang, f"{_POLICY}; style-src 'sha256-{digest}'", status=status)


def _html(page: str, lang: str, policy: str, *, status: int = 200) -> web.Response:
    headers = {"Content-Security-Policy": policy, "Content-Language": lang, "Vary": "Accept-Language"}
    return web.Response(text=page, status=status, content_type="text/html", headers=headers)


def _words(pod: Pod, lang: str) -> dict[str, str]:
    return {**texts(lang, name=pod.config.name), "name": pod.config.name}


def _fill(template: str, words: dict[str, str], **markup: str) -> str:
    """Fill a template. Words are escaped here; markup is inserted unchanged."""
    escaped = {name: escape(word) for name, word in words.items()}
    return Template(_read(template)).substitute(escaped | markup)


def _link(url: str) -> str:
    """Only web addresses become links. Anything else becomes "/"."""
    return url if url.startswith(("http://", "https://")) else "/"


@functools.cache
def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
