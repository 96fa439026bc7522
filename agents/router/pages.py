"""What a visitor sees when there is no pod to show."""

from __future__ import annotations

from aiohttp import web

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:20vh auto;max-width:32rem;padding:0 1rem;color:#222}}</style>
<h1>{title}</h1>
<p>{text}</p>
</html>
"""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
RETRY_SECONDS = "10"


def no_agent() -> web.Response:
    return _page(404, "No agent here", "No agent answers under this name. It may have been deleted.")


def asleep() -> web.Response:
    return _page(503, "This agent is not running", "It is stopped or still starting. Try again in a moment.")


def unreachable() -> web.Response:
    return _page(503, "This agent does not answer", "Its pod cannot be reached right now. Try again in a moment.")


def bad_request() -> web.Response:
    return _page(400, "Not understood", "The request names no host or no path.")


def _page(status: int, title: str, text: str) -> web.Response:
    headers = {**_HEADERS, **({"Retry-After": RETRY_SECONDS} if status == 503 else {})}
    return web.Response(
        status=status, text=_PAGE.format(title=title, text=text), content_type="text/html", headers=headers
    )
