"""The admin site of operators: Django's admin behind a login with limits.

It accepts only Django's own sessions and passwords. API keys and sessions of sign-in codes never open it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver
from django.utils import timezone

from accounts import client_address, console_menu, throttling
from config import csv_files
from config.audit.console import audited, watched
from config.errors import RateLimited, Unavailable
from config.long_lists import bounded

AT_ONCE = 2  # logins that are checked at the same time, in each process
LONGEST_WAIT = 0.25  # seconds; short, because a waiting login holds one of the threads for all requests
_checking = threading.BoundedSemaphore(AT_ONCE)

FOUND = 302  # a form that was accepted leads on

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


class Console(AdminSite):
    site_title = site_header = "Agentpods"
    site_url = "/docs"
    login_template = "admin/sign_in.html"
    index_title = "Overview"
    # What the first page shows. `status` sets it, because it knows all apps.
    overview: ClassVar[Callable[[HttpRequest], dict[str, object]]] = staticmethod(lambda request: {})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Every list can be downloaded, and Django's delete action is removed: nothing is deleted from a list without
        a reason. `config/admin_steps` asks for one.
        """
        super().__init__(*args, **kwargs)
        self.disable_action("delete_selected")
        self.add_action(csv_files.download_csv, "download_csv")

    def register(
        self, model_or_iterable: Any, admin_class: type[ModelAdmin[Any]] | None = None, **options: Any
    ) -> None:
        """Register the admin so that the audit log has all that people do in it, and that its list may be long."""
        super().register(model_or_iterable, audited(bounded(admin_class or ModelAdmin)), **options)

    def get_urls(self) -> list[URLResolver | URLPattern]:
        from accounts.console_pages.urls import urls  # noqa: PLC0415  # models can be imported only now

        return [*urls(self), *super().get_urls()]

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the person is an operator whose session has not been ended."""
        from accounts import console_sessions  # noqa: PLC0415

        return super().has_permission(request) and console_sessions.of(request) is not None

    def login(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Count every try, by its address only: failed tries of strangers never lock an operator's account."""
        from accounts.console_logins import LoginForm  # noqa: PLC0415
        from accounts.oidc import provider  # noqa: PLC0415

        self.login_form = LoginForm
        extra_context = {"provider": provider.name() if provider.is_on() else "", **(extra_context or {})}
        if request.user.is_authenticated and not self.has_permission(request):
            request.session.flush()  # Django's session of a sign-in that was ended
            request.user = AnonymousUser()
        try:
            if request.method != "POST":
                return super().login(request, extra_context)
            spend(request)
            with _turn():
                return super().login(request, extra_context)
        except (RateLimited, Unavailable) as refusal:
            return HttpResponse(
                refusal.message, status=refusal.status, headers=refusal.headers, content_type="text/plain"
            )

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Change one's own password, which ends one's other sessions."""
        from accounts import console_sessions  # noqa: PLC0415

        answer = super().password_change(request, extra_context)
        session = console_sessions.of(request)
        if request.method == "POST" and answer.status_code == FOUND and session:
            console_sessions.end_others(session)
        return answer

    def index(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> TemplateResponse:
        return super().index(request, {**type(self).overview(request), **(extra_context or {})})

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """The menu by jobs; for one app, which Django shows when a link of its own leads there, that app alone."""
        apps = super().get_app_list(request, app_label)
        return apps if app_label else console_menu.by_job(apps)

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Wrap the view. Every page of every admin passes through here."""
        from accounts.console_gate import guarded  # noqa: PLC0415

        return super().admin_view(guarded(_of_what_may_exist(watched(view, address=_address))), cacheable)


def _address(request: HttpRequest) -> str:
    return client_address.of(request.META)


@contextmanager
def _turn() -> Iterator[None]:
    """Limit the password checks that run at once, because each is slow on purpose. Raises Unavailable.

    Logins that wait here hold no database connection.
    """
    if not _checking.acquire(timeout=LONGEST_WAIT):
        raise Unavailable("too many logins at once: try again in a second", retry_after=1)
    try:
        yield
    finally:
        _checking.release()


def _of_what_may_exist(view: View) -> View:
    """Answer 404 if an id contains NUL: no id does, and PostgreSQL fails when it is asked for such an id."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if any("\0" in value for value in (*args, *kwargs.values(), *_looked_for(request)) if isinstance(value, str)):
            raise Http404
        return view(request, *args, **kwargs)

    return cast("View", answered)


def _looked_for(request: HttpRequest) -> Iterator[str]:
    """The filters of a list, the initial values of a new row, and the rows that an action is for.

    Forms check their own fields, and our own pages check their parameters.
    """
    page = request.resolver_match and request.resolver_match.url_name
    if page and page.endswith(("_changelist", "_add")):
        for _, values in request.GET.lists():
            yield from values
    yield from request.POST.getlist(ACTION_CHECKBOX_NAME)


def spend(request: HttpRequest) -> None:
    """Count one try to sign in. Raises RateLimited."""
    now = timezone.now()
    household = client_address.household_of(request.META)
    throttling.spend(throttling.ADMIN_LOGIN, by=household, now=now)
    throttling.spend(throttling.ADMIN_LOGIN_HOUR, by=household, now=now)
