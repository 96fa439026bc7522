"""The operators' console: Django's admin behind a throttled login.

It knows Django's own sessions and passwords only; API keys and code sessions never open it.
"""

from __future__ import annotations

import contextlib

from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts import client_address, mailbox, throttling
from config.errors import RateLimited


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


def _spend(request: HttpRequest) -> None:
    now = timezone.now()
    address = client_address.household(client_address.of(request.META))
    throttling.spend(throttling.ADMIN_LOGIN_ADDRESS, by=address, now=now)
    with contextlib.suppress(mailbox.NotAnAddress):  # what is no address names no account
        account = mailbox.canonical(request.POST.get("username", ""))
        throttling.spend(throttling.ADMIN_LOGIN_ACCOUNT, by=account, now=now)
