"""Steps of operators that change a setting."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ImproperlyConfigured, ValidationError

from config.admin_steps import Given, Logged, Step
from config.admin_steps.step import REASON_LENGTH, OneLine, in_words
from config.operator_settings import choosing
from config.operator_settings.models import OperatorSetting, SettingChange
from config.operator_settings.registry import GUARDED, SETTINGS, TOGETHER
from config.operator_settings.setting import Entry, Setting
from config.operator_settings.shown import line_of

SECRET_LENGTH = 20  # characters; words are shorter


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

    def takes(self, text: str) -> bool:
        """Whether the text could be the value, and does not look like a word."""
        try:
            self._setting.check(text)
        except ImproperlyConfigured:
            return False
        return len(text) >= SECRET_LENGTH

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
        looks = f" It {setting.looks}." if setting.looks else ""
        self.fields["secret"] = SettingValue(setting, help_text=f"{setting.help}{looks} It is not shown again.")
        self.order_fields(self.field_order)

    def clean(self) -> dict[str, Any]:
        """Nobody can remove a reason from the history. So it must not be the secret."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        setting: SettingValue = self.fields["secret"]  # type: ignore[assignment] # made above
        reason, secret = cleaned.get("reason", ""), cleaned.get("secret", "")
        if (secret and secret in reason) or any(setting.takes(word) for word in reason.split()):
            self.add_error("reason", "This looks like the secret itself. Write why you change it.")
        return cleaned


class SettingStep(Step[OperatorSetting]):
    """A step for one setting, whether an operator chose its value before or not."""

    model = OperatorSetting
    parameter = "name"

    def takes(self, setting: Setting[Any]) -> bool:
        """Whether the step is for this setting."""
        return setting.group not in GUARDED

    def rows(self, ids: list[str]) -> list[OperatorSetting]:
        taken = [name for name in ids if name in SETTINGS and self.takes(SETTINGS[name])]
        return [OperatorSetting(name=name) for name in taken[:1]]

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


class GuardedStep(SettingStep):
    permission = "guarded"

    def takes(self, setting: Setting[Any]) -> bool:
        return setting.group in GUARDED and not setting.is_credential


class ChangeGuarded(GuardedStep, ChangeSetting):
    name = "choose_guarded"


class ResetGuarded(GuardedStep, ResetSetting):
    name = "reset_guarded"


class CredentialStep(GuardedStep):
    def takes(self, setting: Setting[Any]) -> bool:
        return setting.is_credential

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
        change = choosing.choose(row.name, text, actor=given.actor, now=given.now, reason=given.reason)
        if missing := _missing_beside(row.name):
            given.say(f"Not set yet: {', '.join(missing)}. Until then nothing is sold with {row.name}.")
        return _logged(row, change)


class RemoveCredential(CredentialStep, ResetSetting):
    name, title, button, done = "remove_credential", "Remove a credential", "Remove", "Removed"

    def means(self, rows: list[OperatorSetting]) -> list[str]:
        otherwise = line_of(rows[0].name).otherwise
        return ["The environment's value holds then." if otherwise else "It is then not set."]


def _missing_beside(name: str) -> list[str]:
    return [other for names in TOGETHER if name in names for other in names if not line_of(other).text]


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
