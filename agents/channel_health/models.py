"""What is known about the channels on which strangers write to agents. Rules are elsewhere."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

REASON_LENGTH = 300


class ChannelState(models.Model):
    """One channel of an agent, other than the web: since when it is silent, and whether its owner was told."""

    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="channel_states", db_index=False)
    channel = models.CharField(max_length=20)
    look_at = models.DateTimeField(
        null=True, blank=True, help_text="When the pod is asked again. Empty: there is nothing to ask."
    )
    heard_from_at = models.DateTimeField(
        null=True, blank=True, help_text="When the pod last reported the state of the channel."
    )
    revision = models.PositiveIntegerField(
        default=0, help_text="The revision of the configuration that the pod had then."
    )
    since = models.DateTimeField(null=True, blank=True, help_text="Since when the channel is silent.")
    reason = models.CharField(
        max_length=REASON_LENGTH, blank=True, help_text="Why it is silent, as the pod reported it."
    )
    told_at = models.DateTimeField(
        null=True, blank=True, help_text="When the silence was reported. Short silences are not reported."
    )
    mailed_at = models.DateTimeField(null=True, blank=True, help_text="When the owner last got a mail about it.")

    class Meta:
        app_label = "agents"
        indexes = [
            # For the scan of agents/channel_health/looking.py.
            models.Index(fields=["look_at"], name="channel_look", condition=Q(look_at__isnull=False)),
        ]
        constraints = [models.UniqueConstraint(fields=["agent", "channel"], name="channel_once")]

    def __str__(self) -> str:
        return f"{self.channel} of {self.agent_id}"
