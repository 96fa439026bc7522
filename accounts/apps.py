"""The app's configuration, and the operators' console as a site of its own."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    default = True
