"""/account/keys: create an API key."""

from __future__ import annotations

import re

from django.db import transaction
from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from rest_framework.request import Request

from accounts import keys, replies
from accounts.authentication import caller
from accounts.errors import TooManyKeys
from accounts.models import ApiKey
from accounts.serializers import KeyNameSerializer
from config.crypto import sha256
from config.errors import BadRequest
from pages.account import sign_in_links
from pages.account.account import AccountPage

PATH = "/account/keys"
_ONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")


class KeysPage(AccountPage):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.go(f"{sign_in_links.ACCOUNT}#keys")

    def create(self, request: Request) -> HttpResponseBase:
        """Create a key and show its secret, this once only.

        If the same form is sent again, no second key is created.
        """
        typed = self.typed("name")
        body = KeyNameSerializer(data={"name": typed})
        if not body.is_valid():
            return self.shown(
                problem=gettext("A name has 1 to 60 characters, all on one line."), name=typed, status=400
            )
        try:
            key, secret = self._made(body.validated_data["name"], once=self.typed("once"))
        except replies.OtherBody as refusal:  # a person who goes back and types another name wants another key
            text = gettext("This form has already created a key. Send it once more to create another one.")
            return self.shown(problem=text, name=typed, status=refusal.status)
        except TooManyKeys as refusal:
            return self.shown(problem=_too_many(refusal.most), name=typed, status=refusal.status)
        return self.page("key.html", {"key": key, "secret": secret})

    @transaction.atomic
    def _made(self, name: str, *, once: str) -> tuple[ApiKey, str | None]:
        if _ONCE.fullmatch(once) is None:
            raise BadRequest("once: missing from the form")
        user, now = caller(self.request), timezone.now()
        kept = replies.reserve(user, method="POST", path=PATH, key=once, fingerprint=sha256(name), now=now)
        if kept.status is not None:
            return keys.own(user, kept.reply["key"]), None
        key, secret = keys.create(user, name=name, now=now)
        replies.keep(kept, status=200, reply={"key": key.pk})
        return key, secret


def _too_many(most: int) -> str:
    text = ngettext(
        "You have %(count)d key that works, and may not have more. Revoke it first.",
        "You have %(count)d keys that work, and may not have more. Revoke one that you no longer need first.",
        most,
    )
    return text % {"count": most}
