"""Steps of operators on keys, sessions, groups and mails, and on other operators' sign-ins to the console."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet

from accounts import console_sessions, keys, letters, roles, sessions
from accounts.console_models import ConsoleSession
from accounts.factors import changing
from accounts.models import ApiKey, Letter, Session, User
from config.admin_steps import DeleteRows, Given, Logged, Step
from config.errors import Forbidden


class RevokeKeys(Step[ApiKey]):
    name, title, button, done = "revoke", "Revoke keys", "Revoke", "Revoked"
    model = ApiKey
    related = ("user",)
    permission = "revoke"
    bulk = True
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


class NotYoursToReset(Forbidden):
    def __init__(self, user: User, why: str) -> None:
        super().__init__(f"{user}: {why}")


class OnOperators(Step[User]):
    """A step on other people's sign-in. Owners do it, but only superusers do it to a superuser."""

    model = User
    permission = "assign"
    material = ("account", "superuser")

    def shown(self, row: User) -> dict[str, str]:
        return {
            "account": row.email,
            "superuser": "yes" if row.is_superuser else "no",
            "second factors": ", ".join(str(one) for one in row.factors.all()) or "none",
            "console sessions": str(row.console_sessions.count()),
        }

    def guard(self, row: User, given: Given) -> None:
        if row.is_superuser and not given.user.is_superuser:
            raise NotYoursToReset(row, "only superusers do this to a superuser")


class ResetSignIn(OnOperators):
    name, title, button, done = "reset_sign_in", "Reset sign-in", "Reset", "Reset"
    counted = True
    warnings = (
        "The person's second factors, recovery codes, console sessions and link to the OIDC provider are removed.",
        "They get a mail, and then sign in with their password alone and add a new second factor.",
        "Make sure that it is really the person who asks you: call them at a number that you know.",
    )

    def among(self, chosen: QuerySet[User]) -> QuerySet[User]:
        return chosen.filter(is_staff=True)

    def take(self, row: User, *, given: Given) -> Logged | None:
        self.guard(row, given)
        if row.pk == given.user.pk:
            raise NotYoursToReset(row, "change your own second factors at My sign-in")
        changing.reset(row)
        return None


class SignOutOperators(OnOperators):
    name, title, button, done = "sign_out", "End console sessions", "End sessions", "Signed out"
    warnings = ("All sessions of these people in the console end. They sign in again.",)

    def among(self, chosen: QuerySet[User]) -> QuerySet[User]:
        return chosen.filter(console_sessions__isnull=False).distinct()

    def take(self, row: User, *, given: Given) -> Logged | None:
        self.guard(row, given)
        console_sessions.end_all(row)
        return None


class EndConsoleSessions(Step[ConsoleSession]):
    name, title, button, done = "end_console_sessions", "End console sessions", "End", "Ended"
    model = ConsoleSession
    related = ("user",)
    deferred = ("pending",)
    permission = "assign"
    warnings = ("Whoever uses these sessions signs in again.",)

    def shown(self, row: ConsoleSession) -> dict[str, str]:
        return {
            "account": row.user.email,
            "since": f"{row.created_at:%Y-%m-%d %H:%M} UTC",
            "address": row.address,
            "browser": row.client,
        }

    def take(self, row: ConsoleSession, *, given: Given) -> Logged | None:
        if row.user.is_superuser and not given.user.is_superuser:
            raise NotYoursToReset(row.user, "only superusers do this to a superuser")
        ConsoleSession.objects.filter(pk=row.pk).delete()
        return [(row.user, f"{self.done}: {given.reason}")]
