"""Which channels an agent connects to, and the secrets they need."""

from __future__ import annotations

from django.db import transaction

from agents.configuring import configuration
from agents.models import Agent
from catalog.engines import engine_of
from config.errors import BadRequest

WEB = "web"
CHANNELS = ("web", "telegram", "discord", "whatsapp", "email")

# The secrets that each channel needs, by their names in the API. The web channel needs none.
SECRETS: dict[str, tuple[str, ...]] = {
    "telegram": ("telegramToken",),
    "discord": ("discordToken",),
    "whatsapp": ("whatsappPhoneNumberId", "whatsappAccessToken", "whatsappVerifyToken", "whatsappAppSecret"),
    "email": ("emailAddress", "emailPassword", "emailSmtpHost", "emailImapHost"),
}
SECRET_NAMES = tuple(name for names in SECRETS.values() for name in names)
MAX_SECRET_CHARACTERS = 1_000  # also the limit of a tool's secret


def check(channels: list[str], *, secrets: dict[str, str], engine_id: str) -> None:
    """Raise BadRequest when there is no channel, or when a channel comes twice, is not the engine's, or lacks a
    secret."""
    engine = engine_of(engine_id)
    if not channels:
        raise BadRequest(f"channels: at least one of {', '.join(engine.channels)}")
    if len(set(channels)) != len(channels):
        raise BadRequest("channels: each channel may be listed once")
    for channel in channels:
        if channel not in engine.channels:
            raise BadRequest(
                f"channels: {engine.label} cannot connect {channel!r}; it takes {', '.join(engine.channels)}"
            )
        for name in SECRETS.get(channel, ()):
            if name not in secrets:
                raise BadRequest(f"channelSecrets.{name}: the channel {channel!r} needs it")


def merged(stored: dict[str, str], given: dict[str, str | None]) -> dict[str, str]:
    """The secrets after a change: an absent secret is kept, a null one is forgotten."""
    secrets = stored | {name: value for name, value in given.items() if value is not None}
    return {name: value for name, value in secrets.items() if name not in given or given[name] is not None}


Given = dict[str, str | None]
_ABSENT = object()


def given(channel_secrets: Given, telegram_token: str | object | None = _ABSENT) -> Given:
    """The secrets of a request. The field `telegramToken` is an alias of the secret with the same name.

    Raises BadRequest for a secret that is too long, or has control characters or white space around it.
    """
    for name, value in channel_secrets.items():
        _check_secret(value, field=f"channelSecrets.{name}")
    if telegram_token is _ABSENT:
        return channel_secrets
    _check_secret(telegram_token, field="telegramToken")
    return {"telegramToken": None if telegram_token is None else str(telegram_token)} | channel_secrets


def _check_secret(value: object, *, field: str) -> None:
    if isinstance(value, str) and len(value) > MAX_SECRET_CHARACTERS:
        raise BadRequest(f"{field}: {len(value)} characters; at most {MAX_SECRET_CHARACTERS}")
    if isinstance(value, str) and (not value.isprintable() or value != value.strip()):
        raise BadRequest(f"{field}: must be text without control characters or white space around it")


@transaction.atomic
def replace(
    agent: Agent,
    *,
    channels: list[str],
    channel_secrets: Given | None = None,
    telegram_token: str | object | None = _ABSENT,
) -> Agent:
    agent = configuration.locked(agent)
    secrets = merged(agent.channel_secrets, given(channel_secrets or {}, telegram_token))
    check(channels, secrets=secrets, engine_id=agent.engine)
    agent.channels, agent.channel_secrets = channels, secrets
    return configuration.save(agent, fields=["channels", "channel_secrets"])
