"""Which page of the console a session may open: none before the second factor, and some only soon after it.

Every page of every admin passes through `guarded`, files and JSON too.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import TypeVar, cast

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from accounts import console_sessions
from accounts.console_sessions import Missing

FRESH = timedelta(minutes=10)  # how long a proof is enough for pages that change who can sign in
TO_TYPE = timedelta(minutes=10)  # more, for the form of such a page
ALWAYS = {"logout", "jsi18n"}
OPEN = {
    Missing.SECOND_FACTOR: {*ALWAYS, "confirm"},
    Missing.ENROLMENT: {*ALWAYS, "confirm", "my_sign_in", "add_app", "add_passkey"},
    Missing.SIGN_IN: ALWAYS,
}
# Whoever finds an open console must not be able to keep it, to open it to others, or to send the money elsewhere.
ONLY_FRESH = {
    *("add_app", "add_passkey", "new_codes", "remove_factor", "password_change"),
    *("auth_user_password_change", "accounts_user_reset_sign_in"),
    *(f"config_operatorsetting_{step}" for step in ("choose_guarded", "reset_guarded")),
    *(f"config_operatorsetting_{step}" for step in ("set_credential", "remove_credential")),
}

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def guarded(view: View) -> View:
    @wraps(view)
    def answered(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        page = (request.resolver_match and request.resolver_match.url_name) or ""
        return _led_elsewhere(request, page) or view(request, *args, **kwargs)

    return cast("View", answered)


def is_open(request: HttpRequest) -> bool:
    """Whether the session lacks nothing. Pages of half a sign-in show no menu."""
    session = console_sessions.of(request)
    return session is not None and console_sessions.missing(session, now=timezone.now()) is Missing.NOTHING


def safe(target: str) -> str:
    """The target if it is a page of the console, else the console's first page."""
    index = reverse("admin:index")
    is_ours = target.startswith(index) and url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return target if is_ours else index


def to_confirm(target: str) -> HttpResponseRedirect:
    query = QueryDict(mutable=True)
    query["next"] = safe(target)
    return HttpResponseRedirect(f"{reverse('admin:confirm')}?{query.urlencode(safe='/')}")


def _led_elsewhere(request: HttpRequest, page: str) -> HttpResponseBase | None:
    """The answer instead of the page, if the session may not open the page now."""
    session, now = console_sessions.of(request), timezone.now()
    lacks = Missing.SIGN_IN if session is None else console_sessions.missing(session, now=now)
    if lacks is not Missing.NOTHING and page not in OPEN[lacks]:
        if lacks is Missing.ENROLMENT:
            return HttpResponseRedirect(reverse("admin:my_sign_in"))
        back = request.get_full_path() if request.method == "GET" else ""
        return to_confirm(back) if lacks is Missing.SECOND_FACTOR else _again(request, back)
    if session and page in ONLY_FRESH:
        limit = FRESH if request.method == "GET" else FRESH + TO_TYPE
        if now > session.confirmed_at + limit:
            return to_confirm(request.get_full_path())
    return None


def _again(request: HttpRequest, back: str) -> HttpResponseBase:
    """Forget the sign-in that was begun too long ago."""
    console_sessions.end(request)
    request.session.flush()
    return redirect_to_login(safe(back), reverse("admin:login"))
