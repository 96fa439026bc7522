"""`manage.py set_stars_webhook`: run it after a change of BASE_URL, or of the bot's settings in the environment."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from billing.providers.stars import bot
from billing.providers.stars.telegram import TelegramRefused
from config.errors import ServiceError


class Command(BaseCommand):
    help = "Ask Telegram to report payments in stars to this installation."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            url = bot.set_webhook()
        except (ServiceError, TelegramRefused) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Telegram reports payments to {url}")
