"""The operators' console: Django's admin behind a throttled login.

It knows Django's own sessions and passwords only; API keys and code sessions never open it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from accounts import client_address, mailbox, throttling
from config.errors import RateLimited

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


class Console(AdminSite):
    site_title = site_header = "Agentpods"
    site_url = "/docs"
    index_title = "Console"
    login_form = AdminAuthenticationForm

    def login(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Every try counts, for its address and for the account that it names."""
        try:
            if request.method == "POST":
                _spend(request)
        except RateLimited as refusal:
            return HttpResponse(refusal.message, status=429, headers=refusal.headers, content_type="text/plain")
        return super().login(request, extra_context)

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Every page of every admin comes by here."""
        return super().admin_view(_of_what_may_exist(view), cacheable)


def _of_what_may_exist(view: View) -> View:
    """Nothing has NUL in its id, and PostgreSQL fails when it is asked for that: such a page is not there."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if any("\0" in value for value in (*args, *kwargs.values(), *_looked_for(request)) if isinstance(value, str)):
            raise Http404
        return view(request, *args, **kwargs)

    return cast("View", answered)


def _looked_for(request: HttpRequest) -> Iterator[str]:
    """What a list is narrowed to or a new row begins with, and the rows that an action is for.

    Forms see to their fields themselves, and so do pages of ours to their parameters.
    """
    page = request.resolver_match and request.resolver_match.url_name
    if page and page.endswith(("_changelist", "_add")):
        for _, values in request.GET.lists():
            yield from values
    yield from request.POST.getlist(ACTION_CHECKBOX_NAME)


def _spend(request: HttpRequest) -> None:
    now = timezone.now()
    address = client_address.household(client_address.of(request.META))
    throttling.spend(throttling.ADMIN_LOGIN_ADDRESS, by=address, now=now)
    with contextlib.suppress(mailbox.NotAnAddress):  # what is no address names no account
        account = mailbox.canonical(request.POST.get("username", ""))
        throttling.spend(throttling.ADMIN_LOGIN_ACCOUNT, by=account, now=now)
