"""The app's configuration, and Django's admin with a site of our own."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class AccountsConfig(AppConfig):
    name = "accounts"
    default = True


class ConsoleConfig(admin_apps.AdminConfig):
    """Stands for `django.contrib.admin` in INSTALLED_APPS."""

    default = False
    default_site = "accounts.console.Console"
