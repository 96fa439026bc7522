"""The app's configuration, and Django's admin with a site of our own."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps

from config import post


class AccountsConfig(AppConfig):
    name = "accounts"
    default = True

    def ready(self) -> None:
        from accounts import letters  # noqa: PLC0415 # models are there only now

        post.carried_by(letters.carry)


class ConsoleConfig(admin_apps.AdminConfig):
    """Stands for `django.contrib.admin` in INSTALLED_APPS."""

    default = False
    default_site = "accounts.console.Console"
