"""Steps of operators that revoke keys and delete groups. Neither can be undone."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet

from accounts import keys, roles
from accounts.models import ApiKey
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
