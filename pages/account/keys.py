"""/account/keys: create an API key."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from django.db import transaction
from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from rest_framework.request import Request

from accounts import keys, replies
from accounts.authentication import caller
from accounts.errors import TooManyKeys, WrongLimit
from accounts.models import ApiKey
from accounts.serializers import CreateKeySerializer
from config.crypto import sha256
from config.errors import BadRequest
from pages.account import key_limits, sign_in_links
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
        typed, now = {field: self.typed(field) for field in ("name", *key_limits.FIELDS)}, timezone.now()
        body = CreateKeySerializer(data={"name": typed["name"], **key_limits.asked(typed, now=now)})
        if not body.is_valid():
            return self._refused(_wrong("name" in body.errors), typed)
        try:
            key, secret = self._made(body.validated_data, typed, once=self.typed("once"), now=now)
        except replies.OtherBody as refusal:  # a person who goes back and types another name wants another key
            text = gettext("This form has already created a key. Send it once more to create another one.")
            return self._refused(text, typed, status=refusal.status)
        except TooManyKeys as refusal:
            return self._refused(_too_many(refusal.most), typed)
        except WrongLimit:
            return self._refused(_wrong(False), typed)
        return self.page("key.html", {"key": key, "secret": secret})

    def _refused(self, problem: str, typed: dict[str, str], *, status: int = 400) -> HttpResponseBase:
        return self.shown(problem=problem, name=typed["name"], status=status)

    @transaction.atomic
    def _made(
        self, wanted: dict[str, Any], typed: dict[str, str], *, once: str, now: datetime
    ) -> tuple[ApiKey, str | None]:
        if _ONCE.fullmatch(once) is None:
            raise BadRequest("once: missing from the form")
        user, fingerprint = caller(self.request), sha256(json.dumps(typed))
        kept = replies.reserve(user, method="POST", path=PATH, key=once, fingerprint=fingerprint, now=now)
        if kept.status is not None:
            return keys.own(user, kept.reply["key"]), None
        key, secret = keys.create(user, **wanted, now=now)
        replies.keep(kept, status=200, reply={"key": key.pk})
        return key, secret


def _wrong(name: bool) -> str:
    if name:
        return gettext("A name has 1 to 60 characters, all on one line.")
    return gettext(
        "These limits do not fit together. A key for one agent, or with an amount, needs a choice of what it may do; an"
        " amount for orders needs a key that may pay, one for models a key that may operate agents. Amounts are"
        " numbers."
    )


def _too_many(most: int) -> str:
    text = ngettext(
        "You have %(count)d key that works, and may not have more. Revoke it first.",
        "You have %(count)d keys that work, and may not have more. Revoke one that you no longer need first.",
        most,
    )
    return text % {"count": most}
