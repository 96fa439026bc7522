"""The values that operators chose, and every change of them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from config.crypto import EncryptedText, Unreadable


class OperatorSetting(models.Model):
    """The value that an operator chose for the setting of this name. Without a row the environment's value holds."""

    name = models.CharField(max_length=60, primary_key=True)
    value = models.TextField(blank=True, help_text="As the environment variable of this name would have it.")
    sealed = EncryptedText(null=True, editable=False, help_text="The value of a credential, instead of `value`.")

    class Meta:
        verbose_name = "setting"
        permissions: ClassVar = [("change_guarded", "Can change who gets the money and who needs a second factor")]

    def __str__(self) -> str:
        return self.name


def chosen_texts(*names: str) -> dict[str, str | None]:
    """What operators chose, by name: for these settings, or for all. Read with one statement.

    None stands for a credential whose encryption key is lost.
    """
    rows = OperatorSetting.objects.filter(name__in=names) if names else OperatorSetting.objects.all()
    found = rows.values_list("name", "value", "sealed")
    return {name: value if sealed is None else _clear(sealed) for name, value, sealed in found}


def _clear(sealed: str | Unreadable) -> str | None:
    return None if isinstance(sealed, Unreadable) else sealed


class SettingChange(models.Model):
    """One change of a setting or of a price. PostgreSQL refuses to change or remove a row.

    `before` and `after` are null where no operator's value held. Of a credential they only say that it was set.
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
