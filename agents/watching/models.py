"""What is kept of a pod's log after that pod."""

from __future__ import annotations

from django.db import models


class KeptLog(models.Model):
    """The end of one pod's log, kept for the time after that pod (agents/watching/kept_logs.py)."""

    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="kept_logs")
    life = models.CharField(max_length=24, help_text="The id of the pod's log. The ids of one agent sort by time.")
    base = models.BigIntegerField(help_text="Offset of the first byte in the pod's log.")
    size = models.PositiveIntegerField(help_text="Size in bytes, before packing.")
    packed = models.BinaryField(
        help_text="Whole lines as the gateway keeps them: secrets are masked, and zlib packs them."
    )
    kept_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "life"], name="kept_log_once")]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.life}: {self.size} bytes"

    @property
    def end(self) -> int:
        return self.base + self.size
