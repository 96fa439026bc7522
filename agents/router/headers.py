"""Which headers of a request and of a reply are passed on, and which ones the router sets."""

from __future__ import annotations

from aiohttp import web
from django.conf import settings
from multidict import CIMultiDict, CIMultiDictProxy

from agents.pod import hop_by_hop
from config.public_networks import address_of

# Headers that only the edge (the trusted proxy in front) may set.
CLAIMS = {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"}


def console_cookies() -> set[str]:
    """The cookies of the console, its pages and the admin, with and without `__Host-`. Pods never see or set them."""
    names = {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME, "session", "csrf", "messages"}
    own = (settings.ACCOUNT_COOKIE_NAME, settings.LANG_COOKIE_NAME, settings.LOOK_COOKIE_NAME)
    names |= {name.removeprefix("__Host-") for name in own}
    return names | {f"__Host-{name}" for name in names}


def onward(request: web.Request) -> CIMultiDict[str]:
    """The request's headers for the pod. `Host` stays, because pods compare it with the origin of a page."""
    headers = _without_hops(request.headers, CLAIMS | {"cookie", "expect"})
    if cookies := _kept_cookies(request.headers.getall("Cookie", [])):
        headers["Cookie"] = cookies
    peer = request.remote or ""
    trusted = _is_trusted(peer)
    claimed = request.headers.get("X-Forwarded-For", "") if trusted else ""
    headers["X-Forwarded-For"] = f"{claimed}, {peer}" if claimed else peer
    headers["X-Forwarded-Host"] = request.host
    headers["X-Forwarded-Proto"] = (trusted and request.headers.get("X-Forwarded-Proto")) or request.scheme
    return headers


def back(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The reply's headers for the visitor."""
    kept = _without_hops(headers, {"set-cookie"})
    for cookie in headers.getall("Set-Cookie", []):
        if cookie.partition("=")[0].strip() not in console_cookies():
            kept.add("Set-Cookie", cookie)
    return kept


def _without_hops(headers: CIMultiDictProxy[str], more: set[str]) -> CIMultiDict[str]:
    dropped = hop_by_hop.names_in(headers) | more
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in dropped)


def _kept_cookies(values: list[str]) -> str:
    """The cookies without the console's. They are kept as they came, because a pod's cookies need not follow our
    parser's rules."""
    pairs = [pair.strip() for value in values for pair in value.split(";")]
    ours = console_cookies()
    return "; ".join(pair for pair in pairs if pair and pair.partition("=")[0].strip() not in ours)


def _is_trusted(peer: str) -> bool:
    address = address_of(peer)
    return address is not None and any(address in network for network in settings.TRUSTED_PROXIES)
