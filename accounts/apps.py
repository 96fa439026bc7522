"""The app's configuration, and Django's admin with our own admin site."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps

from config import outgoing_mail


class AccountsConfig(AppConfig):
    name = "accounts"
    default = True

    def ready(self) -> None:
        from accounts import console_logins, letters  # noqa: PLC0415 # models can be imported only now

        console_logins.listen()
        outgoing_mail.carried_by(letters.carry)


class ConsoleConfig(admin_apps.AdminConfig):
    """Replaces `django.contrib.admin` in INSTALLED_APPS."""

    default = False
    default_site = "accounts.console.Console"
