"""Steps of operators that change a setting."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ImproperlyConfigured, ValidationError

from config.admin_steps import Given, Logged, Step
from config.admin_steps.step import REASON_LENGTH, OneLine, in_words
from config.operator_settings import choosing
from config.operator_settings.models import OperatorSetting, SettingChange
from config.operator_settings.registry import SETTINGS
from config.operator_settings.setting import Entry, Setting
from config.operator_settings.shown import line_of


class ReasonOrNone(forms.Form):
    reason = OneLine(
        required=False,
        max_length=REASON_LENGTH,
        validators=[in_words],
        widget=forms.TextInput(attrs={"size": 80}),
        help_text="Optional. It is stored with your name.",
    )


class SettingValue(forms.CharField):
    """The value, entered as its type needs. The setting itself checks it, as it checks the environment variable."""

    def __init__(self, setting: Setting[Any], **kwargs: Any) -> None:
        unit = f" ({setting.unit})" if setting.unit else ""
        super().__init__(
            required=setting.is_credential,
            max_length=4000,
            label=f"{setting.name}{unit}",
            widget=_widget(setting),
            **kwargs,
        )
        self._setting = setting

    def to_python(self, value: Any) -> str:
        text = str(super().to_python(value))
        return ",".join(text.splitlines()) if self._setting.entry is Entry.LIST else text

    def validate(self, value: Any) -> None:
        super().validate(value)
        try:
            self._setting.check(value)
        except ImproperlyConfigured as problem:
            raise ValidationError(str(problem)) from problem


class ChangeForm(ReasonOrNone):
    field_order = ("value", "reason")

    def __init__(self, *args: Any, setting: Setting[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["value"] = SettingValue(setting, initial=line_of(setting.name).text, help_text=setting.help)
        self.order_fields(self.field_order)


class CredentialForm(ReasonOrNone):
    """The field has the name `secret`, so that the audit log hides its value."""

    field_order = ("secret", "reason")

    def __init__(self, *args: Any, setting: Setting[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["secret"] = SettingValue(setting, help_text=f"{setting.help} It is not shown again.")
        self.order_fields(self.field_order)


class SettingStep(Step[OperatorSetting]):
    """A step for one setting, whether an operator chose its value before or not."""

    model = OperatorSetting
    parameter = "name"
    of_credentials: ClassVar = False

    def rows(self, ids: list[str]) -> list[OperatorSetting]:
        known = [name for name, setting in SETTINGS.items() if setting.is_credential == self.of_credentials]
        return [OperatorSetting(name=name) for name in ids[:1] if name in known]

    def held(self, row_id: str) -> OperatorSetting | None:
        choosing.lock()
        return next(iter(self.rows([row_id])), None)

    def shown(self, row: OperatorSetting) -> dict[str, str]:
        line = line_of(row.name)
        return {"setting": row.name, "value": line.text, "from": line.source}


class ChangeSetting(SettingStep):
    name, title, button, done = "choose", "Change a setting", "Change", "Changed"

    def form_of(self, sent: Any, rows: list[OperatorSetting]) -> forms.Form:
        return ChangeForm(sent, setting=SETTINGS[rows[0].name])

    def take(self, row: OperatorSetting, *, given: Given) -> Logged | None:
        text = given.fields["value"]
        return _logged(row, choosing.choose(row.name, text, actor=given.actor, now=given.now, reason=given.reason))


class ResetSetting(SettingStep):
    name, title, button, done = "reset", "Reset a setting", "Reset", "Reset"
    form = ReasonOrNone

    def rows(self, ids: list[str]) -> list[OperatorSetting]:
        return [row for row in super().rows(ids) if choosing.is_chosen(row.name)]

    def means(self, rows: list[OperatorSetting]) -> list[str]:
        return [f"The value is then: {line_of(rows[0].name).otherwise or 'empty'}"]

    def take(self, row: OperatorSetting, *, given: Given) -> Logged | None:
        return _logged(row, choosing.reset(row.name, actor=given.actor, now=given.now, reason=given.reason))


class CredentialStep(SettingStep):
    """Who sets a provider's key says whose account gets the money: this needs a right of its own."""

    permission = "credentials"
    of_credentials = True

    def shown(self, row: OperatorSetting) -> dict[str, str]:
        line = line_of(row.name)
        newest = SettingChange.objects.filter(name=row.name).values_list("at", flat=True).first()
        since = f"{newest:%Y-%m-%d %H:%M:%S} UTC" if newest else "none"
        return {"credential": row.name, "value": line.text or "not set", "from": line.source, "last change": since}


class SetCredential(CredentialStep):
    name, title, button, done = "set_credential", "Set a credential", "Set", "Set"

    def form_of(self, sent: Any, rows: list[OperatorSetting]) -> forms.Form:
        return CredentialForm(sent, setting=SETTINGS[rows[0].name])

    def take(self, row: OperatorSetting, *, given: Given) -> Logged | None:
        text = given.fields["secret"]
        return _logged(row, choosing.choose(row.name, text, actor=given.actor, now=given.now, reason=given.reason))


class RemoveCredential(CredentialStep, ResetSetting):
    name, title, button, done = "remove_credential", "Remove a credential", "Remove", "Removed"

    def means(self, rows: list[OperatorSetting]) -> list[str]:
        otherwise = line_of(rows[0].name).otherwise
        return ["The environment's value holds then." if otherwise else "It is then not set."]


def _logged(row: OperatorSetting, change: SettingChange) -> Logged:
    reason = f": {change.reason}" if change.reason else ""
    return [(row, f"{change.before or 'no value'} → {change.after or 'no value'}{reason}")]


def _widget(setting: Setting[Any]) -> forms.Widget:
    if setting.entry is Entry.ON_OR_OFF:
        return forms.Select(choices=[("1", "on (1)"), ("0", "off (0)")])
    if setting.entry is Entry.CHOICE:
        return forms.Select(choices=[(one, one) for one in setting.choices])
    if setting.entry is Entry.NUMBER:
        return forms.NumberInput()
    if setting.entry is Entry.LIST:
        return forms.Textarea(attrs={"rows": 4, "cols": 80})
    if setting.is_credential:
        return forms.PasswordInput(attrs={"size": 80, "autocomplete": "new-password"})
    return forms.TextInput(attrs={"size": 80})
