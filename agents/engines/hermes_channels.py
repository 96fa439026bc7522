"""hermes' channels: the name of each channel in hermes, and the variables for its secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.engines.whatsapp import NO_INBOUND
from agents.runtimes.base import PodConfig

# our channel, with hermes' platform
PLATFORMS = {"telegram": "telegram", "discord": "discord", "whatsapp": "whatsapp_cloud", "email": "email"}
_SECRETS = {
    "telegram": {"telegramToken": "TELEGRAM_BOT_TOKEN"},
    "discord": {"discordToken": "DISCORD_BOT_TOKEN"},
    "whatsapp": {
        "whatsappPhoneNumberId": "WHATSAPP_CLOUD_PHONE_NUMBER_ID",
        "whatsappAccessToken": "WHATSAPP_CLOUD_ACCESS_TOKEN",
        # Meta sends its webhook calls to the platform, not to hermes. hermes checks the signature, so the bridge signs
        # with this secret.
        "whatsappAppSecret": "WHATSAPP_CLOUD_APP_SECRET",
    },
    "email": {
        "emailAddress": "EMAIL_ADDRESS",
        "emailPassword": "EMAIL_PASSWORD",
        "emailSmtpHost": "EMAIL_SMTP_HOST",
        "emailImapHost": "EMAIL_IMAP_HOST",
    },
}

_HOSTS = {"EMAIL_SMTP_HOST", "EMAIL_IMAP_HOST"}

# A poll without messages takes ten seconds.
SILENT_MINUTES = 1

# Everybody who finds the agent on a channel may talk to it, but not control its engine. So nobody is an administrator
# there.
_COMMANDS = ["new", "status", "stop"]
_NOBODY = ["nobody"]
_MANNERS: dict[str, Any] = {
    "allow_admin_from": _NOBODY,
    "group_allow_admin_from": _NOBODY,
    "user_allowed_commands": _COMMANDS,
    "group_user_allowed_commands": _COMMANDS,
    "gateway_restart_notification": False,
}
# One of Telegram's own addresses. It is not used; but without one, hermes would ask public name servers for more.
_TELEGRAM_ENVIRONMENT = {"TELEGRAM_FALLBACK_IPS": "149.154.167.220", "HERMES_TELEGRAM_DISABLE_FALLBACK_IPS": "1"}
_ENVIRONMENT = {
    "telegram": _TELEGRAM_ENVIRONMENT,
    # Answer in the channel of the question. A thread for each question needs a right that bots often lack.
    "discord": {"DISCORD_AUTO_THREAD": "false"},
    # Port 0 means any free port. With hermes' own port, several agents of one machine would collide.
    "whatsapp": {"WHATSAPP_CLOUD_WEBHOOK_HOST": "127.0.0.1", "WHATSAPP_CLOUD_WEBHOOK_PORT": "0"},
}
WEBHOOK_PORT = "webhook-port"  # file in hermes' home with the port for WhatsApp's messages (hermes_start.py)
WEBHOOK_PATH = "/whatsapp/webhook"
MESSAGE_HEADER = "X-Pod-Message"


def platforms(config: PodConfig) -> list[str]:
    """hermes' platforms of the agent's channels. Without a model key no platform is connected: hermes would send error
    messages to people, but the agent must be silent.
    """
    return [PLATFORMS[channel] for channel in config.channels if channel in PLATFORMS and config.has_key]


def environment(config: PodConfig) -> dict[str, str]:
    """The secrets of the chosen channels only, because a token in the environment connects its channel."""
    if not platforms(config):
        return {}
    given = {"GATEWAY_ALLOW_ALL_USERS": "true"}  # otherwise hermes refuses everybody who is not on a list
    for channel in config.channels:
        given |= {**_ENVIRONMENT.get(channel, {}), **_secrets(channel, config.channel_secrets)}
    if config.whatsapp_api_url:
        given["POD_WHATSAPP_URL"] = config.whatsapp_api_url.rstrip("/")
    if config.discord_api_url:
        given["POD_DISCORD_URL"] = config.discord_api_url.rstrip("/")
    return given


def _secrets(channel: str, given: Mapping[str, str]) -> dict[str, str]:
    """The secrets of a channel as variables. An agent of an older release may lack a secret that is required now."""
    secrets = {theirs: given[ours] for ours, theirs in _SECRETS.get(channel, {}).items() if ours in given}
    for host in _HOSTS & secrets.keys():
        secrets |= _host_and_port(host, secrets[host])
    return secrets


def _host_and_port(variable: str, given: str) -> dict[str, str]:
    """The host, and the port if it was given as in `mail.example.com:993`."""
    host, colon, port = given.rpartition(":")
    if not colon or not port.isdigit() or ":" in host:
        return {variable: given}
    return {variable: host, variable.replace("HOST", "PORT"): port}


def settings(config: PodConfig) -> dict[str, Any]:
    blocks = {name: {**_MANNERS, "home_channel": _home(name)} for name in platforms(config)}
    if config.telegram_api_url and "telegram" in blocks:
        root = config.telegram_api_url.rstrip("/")
        blocks["telegram"]["extra"] = {"base_url": f"{root}/bot", "base_file_url": f"{root}/file/bot"}
    return {"platforms": blocks}


def _home(platform: str) -> dict[str, str]:
    """The chat for hermes' reports, which belongs to nobody. Without it, hermes would ask each person to choose a chat
    for them.
    """
    return {"platform": platform, "chat_id": "0", "name": "nobody"}


def states(reported: Mapping[str, Any], *, hears_whatsapp: bool) -> dict[str, str | None]:
    """hermes' report on its platforms, by our channel names: None = connected, else the reason why not."""
    states = {channel: _trouble(reported.get(name) or {}) for channel, name in PLATFORMS.items()}
    return states if hears_whatsapp else {**states, "whatsapp": states["whatsapp"] or NO_INBOUND}


def _trouble(platform: Mapping[str, Any]) -> str | None:
    state = str(platform.get("state") or "not connected: channels wait for the model key")
    if state == "connected":
        return _unheard(platform.get("poll") or {})
    return str(platform.get("error_message") or state)


def _unheard(poll: Mapping[str, Any]) -> str | None:
    """The problem of a channel that hermes calls connected but whose polls (hermes_start.py) fail; None
    if they work.
    """
    if refused := poll.get("refused"):
        return refused if isinstance(refused, str) else "the service refuses the bot's token"
    minutes = int(poll.get("seconds") or 0) // 60
    if minutes < SILENT_MINUTES:
        return None
    failure = poll.get("failure") or "the service does not answer"
    return f"no poll has succeeded for {minutes} minute{'s' if minutes > 1 else ''}: {failure}"
