"""The ready-made roles of operators. Each is a Django group whose permissions this table names.

The groups are made and brought up to date after each `migrate`. Nobody edits them in the console: an installation that
needs another role makes a group of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import Q

ASSIGN = "accounts.assign_roles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What people with this role see and do.

    `sees` names apps, or single kinds of rows as `app.model`. `does` names permissions.
    """

    job: str
    sees: tuple[str, ...] = ()
    does: tuple[str, ...] = ()
    everything: bool = False


def _edits(*kinds: str) -> tuple[str, ...]:
    pairs = (kind.split(".") for kind in kinds)
    return tuple(f"{app}.{verb}_{model}" for app, model in pairs for verb in ("add", "change", "delete"))


_PEOPLE = tuple(f"accounts.{one}" for one in ("user", "apikey", "session", "letter", "signincode", "wrongtry"))
_HELP = ("accounts.personnote", "accounts.stafflook")  # what operators write about people, and looks at their pages
_HELPS = ("accounts.add_personnote", "accounts.see_as_person")
_ALL = ("accounts", "agents", "auth", "billing", "catalog", "config", "status", "webhooks")

ROLES = {
    "support": Role(
        job="Helps owners: sees agents and people, and their pages as they do; pauses, resumes and tests agents,"
        " revokes keys, ends sessions, resends events and mails.",
        sees=("agents", "webhooks", "status", "accounts.suspension", "config.job", *_PEOPLE, *_HELP),
        does=(
            *("agents.pause_agent", "agents.test_agent", "accounts.change_apikey", "accounts.change_letter"),
            *("webhooks.change_delivery", "accounts.delete_session", *_HELPS),
        ),
    ),
    "moderator": Role(
        job="Reviews what people publish: approves and takes down personas and articles, bans authors.",
        sees=tuple(f"catalog.{one}" for one in ("persona", "personal10n", "article", "author", "review", "takedown")),
        does=("catalog.moderate_persona",),
    ),
    "finance": Role(
        job="Is responsible for the money: payments, refunds, credits, invoices, coupons, tax rates.",
        sees=(
            *("billing", "accounts.user", "accounts.suspension", "accounts.personnote", "config.job"),
            *("agents.agent", "agents.transition"),
        ),
        does=("billing.correct_term", "accounts.add_personnote", *_edits("billing.coupon", "billing.taxrate")),
    ),
    "operator": Role(
        job="Runs the platform: agents, clusters, backups, accounts, catalog, incidents, settings. No refunds.",
        sees=(
            *("agents", "webhooks", "status", "catalog", "accounts.suspension", "accounts.idempotentreply", *_PEOPLE),
            *_HELP,
            *("config.operatorsetting", "config.settingchange", "config.job"),
            *("billing.agentterm", "billing.nextplan", "billing.lapse"),
        ),
        does=(
            *("agents.pause_agent", "agents.test_agent", "agents.change_agent", "agents.delete_agent"),
            *("agents.change_repository", *_edits("agents.cluster", "status.incident")),
            *("status.add_announcement", "status.change_announcement", "status.mail_announcement"),
            *("accounts.change_user", "accounts.change_apikey", "accounts.add_letter", "accounts.change_letter"),
            *("webhooks.change_delivery", "accounts.delete_session", *_HELPS),
            *(f"catalog.{verb}_{one}" for verb in ("add", "change") for one in ("tier", "engine", "toolset")),
            *(f"catalog.{verb}_{one}" for verb in ("add", "change") for one in ("llmprovider", "llmmodel")),
            *(f"catalog.{verb}_{one}" for verb in ("add", "change") for one in ("persona", "personal10n")),
            "config.change_operatorsetting",
        ),
    ),
    "auditor": Role(job="Sees everything but secrets, the audit log too, and changes nothing.", sees=_ALL),
    "owner": Role(job="Does everything, and says who has which role.", everything=True),
}


def permissions_of(role: Role) -> list[Permission]:
    everything = Permission.objects.select_related("content_type")
    if role.everything:
        return list(everything)
    named = [name.partition(".") for name in role.does]
    seen = [one.partition(".") for one in role.sees]
    does = [Q(content_type__app_label=app, codename=codename) for app, _, codename in named]
    sees = [Q(content_type__app_label=app) & (Q(content_type__model=model) if model else Q()) for app, _, model in seen]
    wanted = reduce(or_, (one & Q(codename__startswith="view_") for one in sees), Q(pk=None))
    return list(everything.filter(reduce(or_, does, wanted)))


@transaction.atomic
def bring_up_to_date(**_: Any) -> None:
    """Make the groups, and give each exactly the permissions of its role."""
    for name, role in ROLES.items():
        Group.objects.get_or_create(name=name)[0].permissions.set(permissions_of(role))
