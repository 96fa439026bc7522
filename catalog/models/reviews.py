"""Community personas, as moderators see them."""

from __future__ import annotations

from typing import ClassVar

from catalog.models.personas import Persona


class Review(Persona):
    """A published persona whose current version no moderator has passed (`in_queue`)."""

    class Meta:
        proxy = True
        ordering: ClassVar = ["published_at", "id"]
        verbose_name = "persona in review"
        verbose_name_plural = "review queue"
        default_permissions = ("view",)
        permissions: ClassVar = [("moderate_persona", "Can approve and take down personas and ban authors")]
