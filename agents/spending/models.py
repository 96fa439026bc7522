"""What model calls took, by day, and how far each pod's figures were read. Rules are elsewhere."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.pod.gateway.spending.limits import UNITS_A_USD

MOST_CLEARED = 50  # deletions of single conversations that are remembered
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
USD_DIGITS, USD_PLACES = 20, 10  # prices have four places for a million tokens, so nothing is rounded


def has_money() -> Q:
    """Rows with a limit in USD."""
    return Q(day_usd__isnull=False) | Q(month_usd__isnull=False)


class SpendingQuerySet(models.QuerySet["Spending"]):
    def due(self, now: datetime) -> SpendingQuerySet:
        """The agents whose pod is asked now. Uses the partial index `spending_due`."""
        return self.filter(read_at__lte=now).order_by("read_at")

    def with_money(self) -> SpendingQuerySet:
        """The agents that have a limit in USD."""
        return self.filter(has_money())


class Spending(models.Model):
    """The limits of one agent, and the time of the next question to its pod for figures."""

    agent = models.OneToOneField("agents.Agent", on_delete=models.CASCADE, primary_key=True, related_name="spending")
    read_at = models.DateTimeField(
        null=True, blank=True, help_text="When the pod is asked again. Empty: its agent does not run."
    )
    day_usd = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    month_usd = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    turn_tokens = models.PositiveIntegerField(null=True, blank=True)
    minute_calls = models.PositiveIntegerField(null=True, blank=True)
    is_stopped = models.BooleanField(
        default=False, db_default=False, help_text="Whether the owner has switched all model calls off."
    )
    told = models.JSONField(default=dict, db_default={}, help_text="Which limits the owner was told about, and when.")
    is_replayed = models.BooleanField(
        default=True, db_default=True, help_text="Whether the pod records what the agent does."
    )
    replay_cleared = models.JSONField(
        default=dict,
        db_default={},
        help_text="When the replay was deleted, by conversation; without a name for all of them.",
    )

    objects: ClassVar[SpendingQuerySet] = SpendingQuerySet.as_manager()  # type: ignore[assignment]  # with its methods

    class Meta:
        app_label = "agents"
        indexes = [models.Index(fields=["read_at"], name="spending_due", condition=Q(read_at__isnull=False))]

    def __str__(self) -> str:
        return self.agent_id

    def limits(self) -> dict[str, int | bool]:
        """The limits in the form of the gateway; those that are not set are left out."""
        limits: dict[str, int | bool | None] = {
            "day": units(self.day_usd),
            "month": units(self.month_usd),
            "turn_tokens": self.turn_tokens,
            "minute_calls": self.minute_calls,
            "is_stopped": self.is_stopped or None,
        }
        return {name: value for name, value in limits.items() if value is not None}

    def replay_cleared_at(self, session: str) -> datetime:
        """What happened in this conversation until then was deleted."""
        known = [self.replay_cleared[name] for name in {"", session} if name in self.replay_cleared]
        return max(map(datetime.fromisoformat, known), default=_LONG_AGO)

    def clear_replay(self, session: str, *, now: datetime) -> None:
        """The replay of this conversation is deleted; "" means all. The newest deletions are remembered."""
        known = self.replay_cleared if session else {}
        single = sorted((at, name) for name, at in known.items() if name not in {"", session})
        whole = {"": known[""]} if "" in known else {}
        newest = {name: at for at, name in single[-MOST_CLEARED:]}
        self.replay_cleared = {**whole, **newest, session: now.isoformat()}


class AccountSpending(models.Model):
    """The limits of one account: what the model calls of all its agents may take together."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="spending"
    )
    day_usd = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    month_usd = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    is_stopped = models.BooleanField(
        default=False, db_default=False, help_text="Whether the owner has switched the model calls of all agents off."
    )
    told = models.JSONField(default=dict, db_default={}, help_text="Which limits the owner was told about, and when.")

    class Meta:
        app_label = "agents"

    def __str__(self) -> str:
        return str(self.user_id)


class SpendingBook(models.Model):
    """A book of a pod's gateway, and the last of its batches that was added to the figures."""

    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="spending_books")
    name = models.CharField(max_length=40)
    number = models.PositiveIntegerField()
    read_at = models.DateTimeField()

    class Meta:
        app_label = "agents"
        indexes = [models.Index(fields=["read_at"], name="spending_book_age")]
        constraints = [models.UniqueConstraint(fields=["agent", "name"], name="spending_book_once")]

    def __str__(self) -> str:
        return f"{self.name} of {self.agent_id}: {self.number}"


class CallFigures(models.Model):
    """What model calls took: their number, token units, and USD."""

    calls = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    estimated = models.BigIntegerField(default=0)
    unpriced = models.BigIntegerField(default=0)
    input = models.BigIntegerField(default=0)
    cached = models.BigIntegerField(default=0)
    written = models.BigIntegerField(default=0)
    output = models.BigIntegerField(default=0)
    reasoning = models.BigIntegerField(default=0)
    usd = models.DecimalField(max_digits=USD_DIGITS, decimal_places=USD_PLACES, default=Decimal(0))

    class Meta:
        abstract = True


class ModelUsage(CallFigures):
    """What the model calls of one agent, day, model and conversation took."""

    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="model_usage", db_index=False)
    day = models.DateField()
    model = models.CharField(max_length=240, help_text="<provider>:<model name>")
    kind = models.CharField(max_length=12, help_text="What asked for it: chat, a2a, test, shared or engine.")
    session = models.CharField(max_length=128, blank=True)

    class Meta:
        app_label = "agents"
        indexes = [models.Index(fields=["day"], name="model_usage_age")]
        constraints = [
            # The order of the columns is that of the questions: an agent's days.
            models.UniqueConstraint(fields=["agent", "day", "model", "kind", "session"], name="model_usage_once")
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.day} {self.model}"


class KeyUsage(CallFigures):
    """What the model calls of turns took that an API key started, by day and agent. A call for which turns of two keys
    were open is counted for both.
    """

    api_key = models.ForeignKey("accounts.ApiKey", on_delete=models.CASCADE, related_name="model_usage", db_index=False)
    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="key_usage")
    day = models.DateField()

    class Meta:
        app_label = "agents"
        indexes = [models.Index(fields=["day"], name="key_usage_age")]
        constraints = [
            # The order of the columns is that of the questions: a key's days, over all agents.
            models.UniqueConstraint(fields=["api_key", "day", "agent"], name="key_usage_once")
        ]

    def __str__(self) -> str:
        return f"{self.api_key_id} {self.day} {self.agent_id}"


class SpentDay(models.Model):
    """What one agent spent on one day: the sums of ModelUsage, for the limits."""

    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="spent_days", db_index=False)
    day = models.DateField()
    usd = models.DecimalField(max_digits=USD_DIGITS, decimal_places=USD_PLACES, default=Decimal(0))

    class Meta:
        app_label = "agents"
        indexes = [models.Index(fields=["day"], name="spent_day_age")]
        constraints = [models.UniqueConstraint(fields=["agent", "day"], name="spent_day_once")]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.day}: {self.usd}"


def units(usd: Decimal | None) -> int | None:
    """The amount in the gateway's units."""
    return None if usd is None else int(usd * UNITS_A_USD)


def month_of(day: date) -> date:
    """The first day of its month."""
    return day.replace(day=1)
