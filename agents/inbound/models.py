"""The messages of people to agents, as services sent them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from config.crypto import EncryptedText

NAME_CHARACTERS = 200
ERROR_CHARACTERS = 300


class Ended(models.TextChoices):
    HANDED_OVER = "handed_over", "handed over to the engine"
    DROPPED = "dropped", "dropped: the engine could not receive it in time"


class InboundMessage(models.Model):
    """A message waits while `due_at` is set. Its name is kept afterwards, so that a repeat by the service is not
    delivered twice."""

    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="+")
    channel = models.CharField(max_length=20)
    name = models.CharField(max_length=NAME_CHARACTERS, help_text="The message's id at its service, such as WhatsApp.")
    body = EncryptedText(
        null=True, help_text="The message as the engine reads it. Deleted when the message is delivered or dropped."
    )
    received_at = models.DateTimeField()
    due_at = models.DateTimeField(
        null=True, blank=True, help_text="The time of the next attempt. Empty: the message was delivered or dropped."
    )
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=ERROR_CHARACTERS, blank=True, default="")
    ended = models.CharField(max_length=12, choices=Ended.choices, blank=True, default="")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(fields=("agent", "channel", "name"), name="inbound_once"),)
        indexes = (
            models.Index(fields=("due_at",), name="inbound_due", condition=Q(due_at__isnull=False)),
            models.Index(fields=("agent", "id"), name="inbound_waiting", condition=Q(due_at__isnull=False)),
            models.Index(fields=("ended_at",), name="inbound_ended", condition=Q(ended_at__isnull=False)),
        )

    def __str__(self) -> str:
        return f"{self.agent_id} {self.channel} {self.name}"
