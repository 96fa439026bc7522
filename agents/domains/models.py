"""Claims to hostnames, and the names that got a certificate. Rules are elsewhere."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.ids import new_id


class ClaimStatus(models.TextChoices):
    UNPROVED = "unproved"
    PROVED = "proved"
    LAPSED = "lapsed", "lapsed: never proved"
    RELEASED = "released", "released by its owner"
    LOST = "lost", "lost to the account that proved it"


HELD = (ClaimStatus.UNPROVED, ClaimStatus.PROVED)


class DomainClaimQuerySet(models.QuerySet["DomainClaim"]):
    def held(self) -> DomainClaimQuerySet:
        """The claims that are not over: at most one for each name and for each agent."""
        return self.filter(status__in=HELD)

    def serving(self, now: datetime) -> DomainClaimQuerySet:
        """The claims whose names lead to their agents: proved ones, and unproved ones in their days without proof while
        they point here."""
        for_now = Q(status=ClaimStatus.UNPROVED, by_address=True, points_since__isnull=False, lapses_at__gt=now)
        return self.filter(Q(status=ClaimStatus.PROVED) | for_now)

    def reserved(self, now: datetime) -> DomainClaimQuerySet:
        """Released names that are still reserved for their account."""
        return self.filter(status=ClaimStatus.RELEASED, reserved_until__gt=now)


class DomainClaim(models.Model):
    """One agent's claim to one hostname. A claim that is over stays, to show the past of the name."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "dom"), editable=False)
    domain = models.CharField(max_length=253)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("agents.Agent", on_delete=models.PROTECT, related_name="domain_claims")
    value = models.CharField(
        max_length=80, help_text="The account's value, which the TXT record of the name must have."
    )
    status = models.CharField(max_length=8, choices=ClaimStatus.choices, default=ClaimStatus.UNPROVED)
    by_address = models.BooleanField(
        help_text="Whether the domain works before it is proved, if its DNS address points here. Only for a name that"
        " no other account has ever held."
    )
    claimed_at = models.DateTimeField()
    proved_at = models.DateTimeField(null=True, blank=True)
    points_since = models.DateTimeField(
        null=True, blank=True, help_text="Since when the DNS address of the domain points here."
    )
    lapses_at = models.DateTimeField(
        null=True, blank=True, help_text="When the claim ends if the domain is not proved before."
    )
    ended_at = models.DateTimeField(null=True, blank=True)
    reserved_until = models.DateTimeField(
        null=True, blank=True, help_text="Until when a released name is reserved for its account."
    )
    looked_at = models.DateTimeField(null=True, blank=True, help_text="When DNS last answered for the name.")
    look_at = models.DateTimeField(null=True, blank=True, help_text="When DNS is queried again.")
    unroute_at = models.DateTimeField(
        null=True, blank=True, help_text="When the routes of this name are removed from the cluster."
    )

    objects: ClassVar[DomainClaimQuerySet] = DomainClaimQuerySet.as_manager()  # type: ignore[assignment]  # a manager with all its methods

    class Meta:
        app_label = "agents"
        indexes = [
            # For the scans of agents/domains/observing.py.
            models.Index(fields=["look_at"], name="domain_look", condition=Q(look_at__isnull=False)),
            models.Index(fields=["unroute_at"], name="domain_unroute", condition=Q(unroute_at__isnull=False)),
            # The past claims of a name.
            models.Index(fields=["domain", "-claimed_at"], name="domain_past"),
            # The names that an account has released recently.
            models.Index(fields=["user", "reserved_until"], name="domain_reserved", condition=Q(status="released")),
        ]
        constraints = [
            models.UniqueConstraint(fields=["domain"], name="domain_held_once", condition=Q(status__in=HELD)),
            models.UniqueConstraint(fields=["agent"], name="domain_one_each", condition=Q(status__in=HELD)),
        ]

    def __str__(self) -> str:
        return f"{self.domain} ({self.status})"

    def serves(self, now: datetime) -> bool:
        """Whether this claim is one of `serving`."""
        if self.status == ClaimStatus.PROVED:
            return True
        for_now = self.status == ClaimStatus.UNPROVED and self.by_address and self.points_since is not None
        return for_now and self.lapses_at is not None and self.lapses_at > now


class CertifiedName(models.Model):
    """A name for which an agent of this account was allowed its first certificate. The account's new names are counted
    by these rows."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=253)
    since = models.DateTimeField()

    class Meta:
        app_label = "agents"
        indexes = [models.Index(fields=["user", "since"], name="certified_lately")]
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="certified_once")]

    def __str__(self) -> str:
        return self.name
