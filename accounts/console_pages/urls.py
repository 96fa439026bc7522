"""The addresses of these pages, below /admin/."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.urls import URLPattern, path
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.console_pages import adding, confirming, finding, mine, provider


def urls(site: AdminSite) -> list[URLPattern]:
    """Those behind the sign-in pass through `admin_view` like every page of the console."""

    def behind(view: Any) -> Any:
        return site.admin_view(sensitive_post_parameters()(view))

    return [
        path("login/provider/", never_cache(provider.start), name="provider_start"),
        path("login/provider/back/", never_cache(provider.back), name="provider_back"),
        path("confirm/", behind(confirming.page), name="confirm"),
        path("find/", site.admin_view(finding.page), name="find"),
        path("my-sign-in/", behind(mine.page), name="my_sign_in"),
        path("my-sign-in/app/", behind(adding.app_page), name="add_app"),
        path("my-sign-in/passkey/", behind(adding.passkey_page), name="add_passkey"),
        path("my-sign-in/codes/", behind(adding.codes_page), name="new_codes"),
        path("my-sign-in/remove/<str:factor_id>/", behind(mine.remove_page), name="remove_factor"),
        path("my-sign-in/end/", behind(mine.end), name="end_console_sessions"),
    ]
