"""Days and points in time in requests. A refusal shows what came."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from rest_framework import serializers

from config.refusals import shown


class DayText(serializers.DateField):
    """A day in UTC."""

    def to_internal_value(self, value: Any) -> date:
        try:
            return super().to_internal_value(value)
        except serializers.ValidationError as error:
            raise serializers.ValidationError(f"{shown(value)} is not a day such as 2026-11-21") from error


class Moment(serializers.DateTimeField):
    """A point in time; in UTC if it names no zone."""

    wanted = "not a point in time"

    def to_internal_value(self, value: Any) -> datetime:
        try:
            return super().to_internal_value(value)
        except serializers.ValidationError as error:
            raise serializers.ValidationError(
                f"{shown(value)} is {self.wanted} such as 2026-11-21T06:30:00Z"
            ) from error
