"""The data of this app about a person: for the data export, and for the deletion of the account."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.contrib.admin.models import LogEntry
from django.db.models import F, Q, TextField
from django.db.models.functions import Cast

from accounts.console_models import ConsoleSession, Factor, ProviderIdentity, RecoveryCode
from accounts.models import (
    NOWHERE,
    ApiKey,
    IdempotentReply,
    Letter,
    PersonNote,
    Session,
    SignInCode,
    StaffLook,
    Suspension,
    User,
    WrongTry,
)
from accounts.oauth.models import OAuthGrant
from config.audit.models import AuditEntry
from config.personal import Section, rows
from config.saved_filters import saving as saved_filters
from config.saved_filters.models import SavedFilter


def exported(user: User) -> Iterator[Section]:
    profile = ("id", "email", "lang", "lang_chosen", "muted_mails", "attribution", "created_at")
    yield "profile", rows(User.objects.filter(pk=user.pk), *profile)
    yield "sessions", rows(Session.objects.filter(user=user), "client", "attribution", "created_at", "seen_at")
    console = ConsoleSession.objects.filter(user=user)
    yield "console-sessions", rows(console, "address", "client", "proof", "created_at", "seen_at")
    yield "saved-filters", rows(SavedFilter.objects.filter(owner=user), "listed", "name", "query", "created_at")
    yield (
        "api-keys",
        rows(
            ApiKey.objects.filter(user=user),
            "id",
            "name",
            "prefix",
            "created_at",
            "last_used_at",
            "revoked_at",
            "scopes",
            "agent_id",
            "expires_at",
            "spend_limit_usd",
            "day_usd",
            "month_usd",
        ),
    )
    yield "notes", rows(PersonNote.objects.filter(user=user), "text", "at")
    yield "seen-by-support", rows(StaffLook.objects.filter(user=user), "began_at", "ended_at")
    yield "mails", rows(Letter.objects.filter(user=user), "email", "subject", "text", "lang", "written_at", "mailed_at")


def is_waiting_for_mail(user: User) -> bool:
    return Letter.objects.filter(user=user, mail_due_at__isnull=False).exists()


def erase(user: User) -> None:
    """Erase the person's data. The row stays for the ledger, under an address that nobody has.

    Call this in a transaction. Calling it twice is harmless.
    """
    email = user.email
    for model in (Session, ConsoleSession, Factor, RecoveryCode, ProviderIdentity):
        model.objects.filter(user=user).delete()
    SavedFilter.objects.filter(owner=user).delete()
    saved_filters.erase(email)
    OAuthGrant.objects.filter(user=user).delete()
    ApiKey.objects.filter(user=user).delete()
    IdempotentReply.objects.filter(user=user).delete()
    Letter.objects.filter(user=user).delete()
    PersonNote.objects.filter(user=user).delete()
    StaffLook.objects.filter(user=user).update(reason="", places=[])
    SignInCode.objects.filter(email=email).delete()
    WrongTry.objects.filter(email=email).delete()
    Suspension.objects.filter(user=user).update(reason="")
    alone = rf"(^|[^a-z0-9.+_-]){re.escape(email)}($|[^a-z0-9.-])"  # the whole address, not the end of a longer one
    told = LogEntry.objects.filter(Q(object_repr__iregex=alone) | Q(change_message__iregex=alone))
    told.update(object_repr=user.pk, change_message="")
    _erase_from_audit_log(alone)
    user.email, user.attribution, user.muted_mails = f"{user.pk}@{NOWHERE}", None, None
    user.lang, user.lang_chosen, user.last_login, user.is_active = "en", False, None, False
    user.set_unusable_password()
    user.save()


def _erase_from_audit_log(alone: str) -> None:
    """Empty what names the person as the object. What an operator did stays under the operator's name."""
    named = AuditEntry.objects.annotate(changed=Cast("changes", TextField()))
    told = named.filter(Q(label__iregex=alone) | Q(reason__iregex=alone) | Q(changed__iregex=alone))
    AuditEntry.objects.filter(pk__in=told.values("pk")).update(label=F("object_id"), reason="", changes=[])
