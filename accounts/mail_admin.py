"""Operators see every mail to people, in each language, and can send one to themselves.

The same function renders these and the real mails, here with the sample values of the mail's form.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.clickjacking import xframe_options_sameorigin

from accounts import letters, throttling
from accounts.models import Letter, User
from accounts.throttling import Limit
from config import audit, content_policy, outgoing_mail
from config.errors import RateLimited
from config.mail_forms import FORMS
from config.outgoing_mail import Mail

TESTS = Limit(name="test-mails", times=20, seconds=3600)
TEST = "[Test] "
MAY_SEND = "accounts.add_letter"

# The page shows the mail in a frame. The mail may use its own styles and nothing else.
OF_THE_PAGE = f"{content_policy.OF_THE_ADMIN}; frame-src 'self'"
OF_A_MAIL = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "sandbox"
)


class WithMails(admin.ModelAdmin[Letter]):
    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        ours = [
            path("mails/", view(self.mails_view), name="accounts_letter_mails"),
            path("mails/<str:name>/<str:lang>/", view(self.mail_view), name="accounts_letter_mail"),
            path(
                "mails/<str:name>/<str:lang>/html",
                xframe_options_sameorigin(view(self.html_view)),
                name="accounts_letter_mail_html",
            ),
            path("mails/<str:name>/<str:lang>/send", view(self.send_view), name="accounts_letter_mail_send"),
        ]
        return [*ours, *super().get_urls()]

    def mails_view(self, request: HttpRequest) -> HttpResponse:
        self._refuse_unseen(request)
        context = {"rows": [(name, self._subject(name)) for name in FORMS], "languages": settings.LANGUAGES}
        return self._page(request, "mails.html", "Mails that people get", context)

    def mail_view(self, request: HttpRequest, name: str, lang: str) -> HttpResponse:
        mail, case = self._mail(request, name, lang)
        context = {
            "mail": mail,
            "case": case,
            "cases": list(FORMS[name].cases),
            "languages": settings.LANGUAGES,
            "may_send": request.user.has_perm(MAY_SEND),
        }
        answer = self._page(request, "mail.html", name, context)
        answer.headers[content_policy.HEADER] = OF_THE_PAGE
        return answer

    def html_view(self, request: HttpRequest, name: str, lang: str) -> HttpResponse:
        mail, _ = self._mail(request, name, lang)
        return HttpResponse(mail.html, headers={content_policy.HEADER: OF_A_MAIL})

    def send_view(self, request: HttpRequest, name: str, lang: str) -> HttpResponse:
        """Send the mail to the operator's own address, in the same way as all letters."""
        mail, _ = self._mail(request, name, lang)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not request.user.has_perm(MAY_SEND) or not isinstance(request.user, User):
            raise PermissionDenied
        try:
            throttling.spend(TESTS, by=request.user.pk, now=timezone.now())
        except RateLimited as refusal:
            messages.error(request, f"Not sent: {refusal.message}.")
        else:
            subject = f"{TEST}{mail.subject}"
            letters.write(request.user, subject=subject, text=mail.text, html=mail.html, lang=mail.lang)
            audit.note("Test mail requested", label=f"{name} ({lang})")
            messages.success(request, f"On its way to {request.user.email}.")
        return redirect(f"{reverse('admin:accounts_letter_mail', args=[name, lang])}?{request.GET.urlencode()}")

    def _mail(self, request: HttpRequest, name: str, lang: str) -> tuple[Mail, str]:
        """The mail in the address, and its case."""
        self._refuse_unseen(request)
        case = request.GET.get("case", "")
        if name not in FORMS or lang not in dict(settings.LANGUAGES) or case not in {"", *FORMS[name].cases}:
            raise Http404
        return outgoing_mail.rendered(name, lang=lang, **FORMS[name].values(case)), case

    def _subject(self, name: str) -> str:
        return outgoing_mail.rendered(name, lang=outgoing_mail.FALLBACK, **FORMS[name].values()).subject

    def _refuse_unseen(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    def _page(self, request: HttpRequest, template: str, title: str, context: dict[str, Any]) -> TemplateResponse:
        frame = {**self.admin_site.each_context(request), "title": title, "opts": self.opts}
        return TemplateResponse(request, f"admin/accounts/letter/{template}", {**frame, **context})
