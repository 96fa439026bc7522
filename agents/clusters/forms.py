"""The form of a cluster for operators. Credentials can be set there and are never shown again."""

from __future__ import annotations

import ipaddress
from typing import Any

from django import forms

from agents.clusters.models import Cluster
from config.crypto import Unreadable

SECRETS = ("kubeconfig", "pull_secret")
SHORTEST_PREFIX = 8
IS_SET = "•••••• (set). Leave this empty to keep it, or enter a new one."


class WriteOnly(forms.Textarea):
    """Never shows its value, not even when the form comes back with an error in another field."""

    def format_value(self, value: Any) -> None:
        return None


def _networks(parts: list[str]) -> list[str]:
    try:
        return [str(ipaddress.ip_network(part.strip())) for part in parts]
    except ValueError as error:
        raise forms.ValidationError(f"Networks, separated by commas: {error}") from error


def _secret(name: str) -> forms.CharField:
    about = str(Cluster._meta.get_field(name).help_text)  # type: ignore[union-attr] # noqa: SLF001 # a column, and public
    area = WriteOnly(attrs={"rows": 6, "cols": 80, "class": "vLargeTextField", "autocomplete": "off"})
    return forms.CharField(required=False, widget=area, help_text=about, max_length=65_536)


class ClusterForm(forms.ModelForm[Cluster]):
    kubeconfig = _secret("kubeconfig")
    clear_kubeconfig = forms.BooleanField(required=False, label="Clear kubeconfig")
    pull_secret = _secret("pull_secret")
    clear_pull_secret = forms.BooleanField(required=False, label="Clear pull secret")

    class Meta:
        model = Cluster
        exclude = SECRETS  # noqa: DJ006 # the admin's fieldsets name the others

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in SECRETS:
            if self.instance.__dict__.get(name) and name in self.fields:
                self.fields[name].help_text += f" {IS_SET}"

    def clean_control_cidrs(self) -> list[str]:
        return _networks(self.cleaned_data["control_cidrs"])

    def clean_own_cidrs(self) -> list[str]:
        """Refuse very large networks: no cluster owns such a network, and pods could not reach that part of the
        internet."""
        found = _networks(self.cleaned_data["own_cidrs"])
        if any(ipaddress.ip_network(one).prefixlen < SHORTEST_PREFIX for one in found):
            raise forms.ValidationError(f"A network must not be larger than a /{SHORTEST_PREFIX}.")
        return found

    def clean(self) -> dict[str, Any]:
        super().clean()
        for name in SECRETS:
            self._take(name)
        return self.cleaned_data

    def _take(self, name: str) -> None:
        given, cleared = self.cleaned_data.get(name), self.cleaned_data.get(f"clear_{name}")
        if given and cleared:
            self.add_error(name, "Enter a new one or clear it, not both.")
        elif given or cleared:
            setattr(self.instance, name, given or None)
        elif isinstance(self.instance.__dict__.get(name), Unreadable):
            setattr(self.instance, name, None)  # so that it is not saved in this state
            self.add_error(name, "It cannot be decrypted any more: enter it again, or clear it.")
