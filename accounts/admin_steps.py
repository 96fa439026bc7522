"""Steps of operators on keys, sessions, groups and mails."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet

from accounts import keys, letters, roles, sessions
from accounts.models import ApiKey, Letter, Session
from config.admin_steps import DeleteRows, Given, Logged, Step


class RevokeKeys(Step[ApiKey]):
    name, title, button, done = "revoke", "Revoke keys", "Revoke", "Revoked"
    model = ApiKey
    related = ("user",)
    permission = "revoke"
    material = ("key", "account", "revoked")
    counted = True
    warnings = ("Requests with these keys get 401 from now on. A revoked key cannot be made valid again.",)

    def among(self, chosen: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        return chosen.filter(revoked_at=None)

    def shown(self, row: ApiKey) -> dict[str, str]:
        return {
            "key": row.pk,
            "name": row.name,
            "secret": f"{row.prefix}…",
            "account": row.user.email,
            "last used": f"{row.last_used_at:%Y-%m-%d %H:%M} UTC" if row.last_used_at else "never",
            "revoked": "yes" if row.revoked_at else "no",
        }

    def take(self, row: ApiKey, *, given: Given) -> Logged | None:
        keys.revoke(row.user, row.pk, now=given.now)
        return None


class ResendLetters(Step[Letter]):
    name, title, button, done = "resend_letters", "Send mails again", "Send again", "Being sent again"
    model = Letter
    related = ("user",)
    permission = "resend"
    material = ("mail", "to", "waits")
    warnings = (
        "The same text goes to the same address, with the same Message-ID: a mail program that has the first copy may"
        " hide this one.",
    )

    def among(self, chosen: QuerySet[Letter]) -> QuerySet[Letter]:
        return chosen.filter(mail_due_at=None)

    def shown(self, row: Letter) -> dict[str, str]:
        return {
            "mail": row.subject,
            "to": row.email,
            "written": f"{row.written_at:%Y-%m-%d %H:%M} UTC",
            "mailed": f"{row.mailed_at:%Y-%m-%d %H:%M} UTC" if row.mailed_at else "given up",
            "waits": "yes" if row.mail_due_at else "no",
        }

    def take(self, row: Letter, *, given: Given) -> Logged | None:
        letters.send_again(row, now=given.now)
        return None


class EndSessions(Step[Session]):
    name, title, button, done = "end_sessions", "End sessions", "End", "Ended"
    model = Session
    related = ("user",)
    permission = "end"
    material = ("account",)
    warnings = ("The browser or program is signed out at once. Its person can sign in again with a mailed code.",)

    def shown(self, row: Session) -> dict[str, str]:
        return {
            "session": row.pk,
            "account": row.user.email,
            "browser": row.client or "unknown",
            "began": f"{row.created_at:%Y-%m-%d %H:%M} UTC",
        }

    def take(self, row: Session, *, given: Given) -> Logged | None:
        sessions.end(row)
        return [(row.user, f"{self.done} {row.pk}: {given.reason}")]


class DeleteGroups(DeleteRows):
    title = "Delete groups"
    model = Group
    warnings = (*DeleteRows.warnings, "Its members lose the rights that they have only through this group.")

    def among(self, chosen: QuerySet[Any]) -> QuerySet[Any]:
        return chosen.exclude(name__in=roles.ROLES)

    def shown(self, row: Any) -> dict[str, str]:
        return {"name": row.name, "members": str(row.members), "rights": str(row.rights)}

    def _all(self) -> QuerySet[Group]:
        return Group.objects.annotate(members=Count("user", distinct=True), rights=Count("permissions", distinct=True))
