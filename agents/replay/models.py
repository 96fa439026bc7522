"""What an agent did: one row for each turn's begin and end, model call and tool that the model asked for."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import ClassVar

from django.db import models

from config.crypto import EncryptedJson, readable
from config.ids import new_id

ID = "rpl"
MODEL, SESSION, TURN, TOOL = 240, 128, 16, 84  # characters
WORD = 20


class ReplayQuerySet(models.QuerySet["ReplayEntry"]):
    def of_agent(self, agent_id: str) -> ReplayQuerySet:
        return self.filter(agent=agent_id)


class ReplayEntry(models.Model):
    """`created_at` is when it happened, by the control plane's clock."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, ID), editable=False)
    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="replay", db_index=False)
    created_at = models.DateTimeField()
    kind = models.CharField(max_length=WORD)
    door = models.CharField(max_length=WORD, blank=True)
    session = models.CharField(max_length=SESSION, blank=True)
    turn = models.CharField(max_length=TURN, blank=True, help_text="The same for all that happened in one turn.")
    model = models.CharField(max_length=MODEL, blank=True, help_text="<provider>:<model name>")
    input = models.PositiveIntegerField(null=True)
    cached = models.PositiveIntegerField(null=True)
    output = models.PositiveIntegerField(null=True)
    is_estimated = models.BooleanField(default=False)
    usd: models.DecimalField[Decimal | None, Decimal | None] = models.DecimalField(
        max_digits=20, decimal_places=10, null=True
    )
    ms = models.PositiveIntegerField(null=True)
    hop = models.CharField(max_length=WORD, blank=True, help_text="Who failed: gateway, engine or model.")
    cause = models.CharField(max_length=WORD, blank=True, help_text="A word of `explain`.")
    tool = models.CharField(max_length=TOOL, blank=True)
    texts = EncryptedJson(null=True, help_text="The beginnings of `asked`, `answered`, `arguments` and `error`.")
    count = models.PositiveIntegerField(null=True, help_text="How many entries of this day were not kept.")

    objects: ClassVar[ReplayQuerySet] = ReplayQuerySet.as_manager()  # type: ignore[assignment]  # with its methods

    class Meta:
        app_label = "agents"
        indexes = [
            models.Index(fields=["agent", "-created_at", "-id"], name="replay_list"),
            models.Index(fields=["agent", "session", "-created_at", "-id"], name="replay_session"),
            models.Index(fields=["created_at"], name="replay_age"),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.created_at:%Y-%m-%d %H:%M:%S} {self.kind}"

    @property
    def said(self) -> dict[str, str]:
        """The texts, without the empty ones. None of them can be read if the key of their encryption is lost."""
        return readable(self).texts or {}

    @property
    def asked(self) -> str:
        return self.said.get("asked", "")

    @property
    def answered(self) -> str:
        return self.said.get("answered", "")

    @property
    def arguments(self) -> str:
        return self.said.get("arguments", "")

    @property
    def error(self) -> str:
        return self.said.get("error", "")
