"""The values that operators chose, and every change of them."""

from __future__ import annotations

from django.db import models


class OperatorSetting(models.Model):
    """The value that an operator chose for the setting of this name. Without a row the environment's value holds."""

    name = models.CharField(max_length=60, primary_key=True)
    value = models.TextField(blank=True, help_text="As the environment variable of this name would have it.")

    class Meta:
        verbose_name = "setting"

    def __str__(self) -> str:
        return self.name


class SettingChange(models.Model):
    """One change of a setting or of a price. PostgreSQL refuses to change or remove a row.

    `before` and `after` are null where no operator's value held.
    """

    name = models.CharField(max_length=80)
    before = models.TextField(null=True)
    after = models.TextField(null=True)
    actor = models.CharField(max_length=80)
    reason = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name = "change of a setting"
        verbose_name_plural = "changes of settings"
        ordering = ("-at", "-id")

    def __str__(self) -> str:
        return self.name
