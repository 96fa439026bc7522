"""What a visitor sees when there is no pod to show."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from aiohttp import web
from django.conf import settings

from agents.pod.states import STATE_HEADER, AgentState

_PAGE = """<!doctype html>
<html lang="en">
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
}
RETRY_SECONDS = "10"


_ASLEEP = {
    AgentState.STARTING: "It is being started. Try again in a moment.",
    AgentState.FAILED: "It could not be started. Its owner sees in the console why.",
}
_STOPPED = "It is stopped. Its owner can start it in the console."


def no_agent() -> web.Response:
    text = "No agent answers under this name. It may have been deleted."
    return _page(404, "No agent here", text, state=AgentState.GONE)


def asleep(state: AgentState | None) -> web.Response:
    """`state` is for the chat page that somebody still has open: it reads the header."""
    text = _ASLEEP.get(state, _STOPPED) if state else _STOPPED
    # Not the agent's own page: nobody knows yet who asks, and strangers need not learn its id.
    link = f'<p><a href="{escape(settings.BASE_URL)}/account">If it is yours: your agents in the console</a></p>'
    return _page(503, "This agent is not running", text, state=state, link=link)


def unreachable() -> web.Response:
    return _page(503, "This agent does not answer", "Its pod cannot be reached right now. Try again in a moment.")


def crowded() -> web.Response:
    return _page(503, "This agent has too many visitors", "Try again in a moment.")


def refused(status: int, headers: Mapping[str, str] | None) -> web.Response:
    """Of a socket that the pod did not open: its own status."""
    known = {name: value for name, value in (headers or {}).items() if name.lower() == "retry-after"}
    response = _page(status if 400 <= status < 600 else 503, "Not opened", "The agent did not open this connection.")
    response.headers.update(known)
    return response


def bad_request() -> web.Response:
    return _page(400, "Not understood", "The request names no valid host or no path.")


def _page(status: int, title: str, text: str, *, state: AgentState | None = None, link: str = "") -> web.Response:
    headers = {**_HEADERS, **({"Retry-After": RETRY_SECONDS} if status == 503 else {})}
    if state is not None:
        headers[STATE_HEADER] = state
    return web.Response(
        status=status, text=_PAGE.format(title=title, text=text, link=link), content_type="text/html", headers=headers
    )
