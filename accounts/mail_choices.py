"""Which mails a person gets, and in which language.

Mails about money, safety, deletion and a person's own texts cannot be turned off: without them the person could lose
something.
"""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.db import transaction

from accounts.models import User
from config.errors import BadRequest
from config.mail_forms import FORMS

OPTIONAL = tuple(name for name, form in FORMS.items() if form.may_be_muted)


class UnknownLanguage(BadRequest):
    def __init__(self) -> None:
        super().__init__(f"lang: must be one of {', '.join(code for code, _ in settings.LANGUAGES)}")


def wants(user: User, name: str) -> bool:
    return name not in OPTIONAL or name not in (user.muted_mails or ())


def language(user: User, *, otherwise: str) -> str:
    return user.lang if user.lang_chosen else otherwise


@transaction.atomic
def choose(user: User, *, lang: str, wanted: Collection[str]) -> User:
    """Set the user's choice. Mails that are not optional still come. Raises UnknownLanguage."""
    if lang not in dict(settings.LANGUAGES):
        raise UnknownLanguage
    user.lang, user.lang_chosen = lang, True
    user.muted_mails = [name for name in OPTIONAL if name not in wanted]
    user.save(update_fields=["lang", "lang_chosen", "muted_mails"])
    return user
