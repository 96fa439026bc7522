"""/account/mails: which mails a person gets, and in which language."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts import mail_choices
from accounts.authentication import caller
from pages import languages
from pages.account.base import AccountPageViewSet

PATH = "/account/mails"
OPTIONAL: dict[str, Promise] = {
    "pod_stops": _("Reminders in the days before an agent stops because it is not paid for"),
    "channel_silent": _("News that an agent no longer hears you on a channel, such as Telegram"),
    "announcement": _("News about the service"),
}
ALWAYS: tuple[Promise, ...] = (
    _("Sign-in codes"),
    _("Receipts, refunds, and renewals that failed"),
    _("Paid time ends, or an agent has stopped, and when its data is deleted"),
    _("You have lost a domain, or will lose it unless you prove that it is yours"),
    _("We removed something that you wrote from the catalog"),
    _("Changes of the service that you must know about"),
    _("Your data is ready, or your account is being deleted"),
)


class MailsPage(AccountPageViewSet):
    shown_in_look = True

    def retrieve(self, request: Request) -> HttpResponseBase:
        user = caller(request)
        context = {
            "optional": [(name, text, mail_choices.wants(user, name)) for name, text in OPTIONAL.items()],
            "always": ALWAYS,
            "languages": settings.LANGUAGES,
            "lang": user.lang if user.lang_chosen else self.language.code,
            "saved": "saved" in self.sent.GET,
        }
        return self.page("mails.html", context)

    def create(self, request: Request) -> HttpResponseBase:
        """Save the choice. The pages use the chosen language at once, if they exist in it."""
        lang = self.typed("lang")
        mail_choices.choose(caller(request), lang=lang, wanted=self.sent.POST.getlist("mail"))
        answer = self.go(f"{PATH}?saved")
        if lang in languages.LANGUAGES:
            languages.remember(answer, languages.LANGUAGES[lang])
        return answer
