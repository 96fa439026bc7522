"""Models that belong to no app."""

from __future__ import annotations

from django.db import models

from config.audit.models import AuditEntry
from config.jobs.models import Job, JobRow
from config.operator_settings.models import OperatorSetting, SettingChange
from config.saved_filters.models import SavedFilter

__all__ = ["AuditEntry", "Job", "JobRow", "OperatorSetting", "SavedFilter", "SettingChange", "UsedPage"]


class UsedPage(models.Model):
    """A page of an operator's step that was sent for one row. It cannot change that row again.

    The row is removed when the page is too old to be sent.
    """

    id = models.TextField(primary_key=True, editable=False, help_text="The page's id, a colon and the row's id.")
    forget_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.id
