"""The people whom a mail goes to: all, or those of some plan, engine, cluster, status, language or country."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import NOWHERE, User
from agents.clusters.models import Cluster, Placement
from agents.models import Agent, Status
from billing.models import BillingDetails
from catalog.models import Engine, Tier
from status.announcements.models import Announcement
from status.announcements.wording import NEWS, name_of_mail


class GroupForm(forms.Form):
    """What is chosen of an agent must hold for one and the same agent. Nothing chosen: everybody."""

    tier = forms.MultipleChoiceField(required=False, label="Plan of an agent")
    engine = forms.MultipleChoiceField(required=False, label="Engine of an agent")
    cluster = forms.MultipleChoiceField(required=False, label="Cluster of an agent")
    status = forms.MultipleChoiceField(required=False, choices=Status.choices, label="Status of an agent")
    paid = forms.ChoiceField(
        required=False,
        choices=[("", "paid or not"), ("yes", "has a paid agent"), ("no", "has an unpaid agent")],
        label="Payment of an agent",
    )
    lang = forms.MultipleChoiceField(required=False, choices=settings.LANGUAGES, label="Language of the person")
    country = forms.CharField(
        required=False,
        max_length=2,
        label="Country on the invoices",
        help_text="Two letters, such as DE. Few people have one.",
    )

    def __init__(self, sent: Any = None) -> None:
        super().__init__(sent)
        self._choices("tier", [(one.pk, str(one)) for one in Tier.objects.all()])
        self._choices("engine", [(one.pk, str(one)) for one in Engine.objects.all()])
        self._choices("cluster", [(str(one.pk), one.name) for one in Cluster.objects.only("name")])

    def _choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]  # a field of choices

    def clean_country(self) -> str:
        return str(self.cleaned_data["country"]).upper()

    def words(self) -> str:
        """The choice in words, for the job and the audit log."""
        told = {name: value for name, value in self.cleaned_data.items() if value}
        parts = (f"{name} {' or '.join(value) if isinstance(value, list) else value}" for name, value in told.items())
        return f"as the people with {', '.join(parts)}" if told else "as all people"


def people() -> QuerySet[User]:
    return User.objects.filter(is_active=True, closed_at=None).exclude(email__endswith=f"@{NOWHERE}")


def readers(announcement: Announcement, chosen: dict[str, Any]) -> QuerySet[User]:
    """The people of the group who have not got the mail yet, and have not turned such mails off."""
    found = people().exclude(Exists(announcement.mails.filter(user=OuterRef("pk"))))
    if name_of_mail(announcement) == NEWS:
        found = found.filter(Q(muted_mails=None) | ~Q(muted_mails__contains=[NEWS]))
    if chosen["lang"]:
        found = found.filter(lang__in=chosen["lang"])
    if chosen["country"]:
        found = found.filter(Exists(BillingDetails.objects.filter(user=OuterRef("pk"), country=chosen["country"])))
    agents = _agents(chosen)
    return found if agents is None else found.filter(Exists(agents))


def _agents(chosen: dict[str, Any]) -> QuerySet[Agent] | None:
    """The agents of a person of which one must exist. None if no agent is asked for."""
    wanted = {f"{name}__in": chosen[name] for name in ("tier", "engine", "status") if chosen[name]}
    if chosen["paid"]:
        wanted["paid"] = chosen["paid"] == "yes"
    agents = Agent.objects.live().filter(user=OuterRef("pk"), **wanted)
    if chosen["cluster"]:
        return agents.filter(Exists(Placement.objects.filter(pk=OuterRef("pk"), cluster__in=chosen["cluster"])))
    return agents if wanted else None
