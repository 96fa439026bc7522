"""The pages that a visitor sees when no pod can be shown: in the browser's language, else in the agent's."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from aiohttp import web
from django.conf import settings

from agents.pod.gateway.languages import preferred
from agents.pod.states import STATE_HEADER, AgentState
from agents.router.words import WORDS

_PAGE = """<!doctype html>
<html lang="{lang}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:20vh auto;max-width:32rem;padding:0 1rem;color:#222}}</style>
<h1>{title}</h1>
<p>{text}</p>{link}
</html>
"""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Language",
}
RETRY_SECONDS = "10"
NO_AGENTS_LANG = "en"  # when no agent is known

_ASLEEP = {AgentState.STARTING: "asleep_starting", AgentState.FAILED: "asleep_failed"}


def no_agent(request: web.Request) -> web.Response:
    return _page(404, _words(request, NO_AGENTS_LANG), "gone", state=AgentState.GONE)


def asleep(request: web.Request, lang: str, state: AgentState | None) -> web.Response:
    """The page of an agent without a running pod. A chat page that is still open reads `state` from the header."""
    words = _words(request, lang)
    text = _ASLEEP.get(state, "asleep_stopped") if state else "asleep_stopped"
    # The link does not go to the agent's own page: the visitor may be a stranger, who must not see the agent's id.
    link = f'<p><a href="{escape(settings.BASE_URL)}/account">{escape(words["asleep_link"])}</a></p>'
    return _page(503, words, "asleep", text=text, state=state, link=link)


def unreachable(request: web.Request, lang: str) -> web.Response:
    return _page(503, _words(request, lang), "unreachable")


def crowded(request: web.Request, lang: str) -> web.Response:
    return _page(503, _words(request, lang), "crowded")


def refused(request: web.Request, lang: str, status: int, headers: Mapping[str, str] | None) -> web.Response:
    """The page for a websocket that the pod refused, with the pod's own status."""
    known = {name: value for name, value in (headers or {}).items() if name.lower() == "retry-after"}
    response = _page(status if 400 <= status < 600 else 503, _words(request, lang), "refused")
    response.headers.update(known)
    return response


def bad_request(request: web.Request) -> web.Response:
    return _page(400, _words(request, NO_AGENTS_LANG), "odd")


def _words(request: web.Request, lang: str) -> dict[str, str]:
    chosen = preferred(request, otherwise=lang)
    return {"lang": chosen, **WORDS[chosen]}


def _page(
    status: int, words: dict[str, str], name: str, *, text: str = "", state: AgentState | None = None, link: str = ""
) -> web.Response:
    """A page with the texts `<name>_title` and `<name>_text`, or `text` in place of the second one."""
    headers = {**_HEADERS, "Content-Language": words["lang"]}
    if status == 503:
        headers["Retry-After"] = RETRY_SECONDS
    if state is not None:
        headers[STATE_HEADER] = state
    said = {"title": escape(words[f"{name}_title"]), "text": escape(words[text or f"{name}_text"])}
    page = _PAGE.format(lang=words["lang"], link=link, **said)
    return web.Response(status=status, text=page, content_type="text/html", headers=headers)
