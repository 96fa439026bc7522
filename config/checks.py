"""What must hold before anything starts in production, and what `check --deploy` finds wrong with a deployment."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning
from django.core.exceptions import ImproperlyConfigured

from config import embedded

MIN_SECRET_KEY_LENGTH = 50


def refusals() -> list[str]:
    """Why this production may not start; empty in development, which generates what is missing."""
    if settings.DEVELOPMENT:
        return _malformed_keys()
    return [*_missing_or_default_secrets(), *_malformed_keys(), *_local_only(), *_no_images(), *_shown_codes()]


def _missing_or_default_secrets() -> list[str]:
    found = []
    if len(_secret_key()) < MIN_SECRET_KEY_LENGTH or _secret_key() == settings.DEVELOPMENT_SECRET_KEY:
        found.append(f"SECRET_KEY: set a random text of at least {MIN_SECRET_KEY_LENGTH} characters")
    if not settings.SECRETS_KEYS or settings.DEVELOPMENT_SECRETS_KEY in settings.SECRETS_KEYS:
        found.append("SECRETS_KEYS: set at least one Fernet key of your own, newest first, separated by commas")
    return found


def _secret_key() -> str:
    """Django raises when it is empty, without saying what else is missing."""
    try:
        return settings.SECRET_KEY
    except ImproperlyConfigured:
        return ""


def _malformed_keys() -> list[str]:
    for key in settings.SECRETS_KEYS:
        try:
            Fernet(key)
        except ValueError:
            return ["SECRETS_KEYS: each must be a Fernet key: 32 bytes in url-safe base64"]
    return []


def _local_only() -> list[str]:
    if settings.AGENT_RUNTIME == "local":
        return ["AGENT_RUNTIME: local runs engines without isolation beside the control plane; use kubernetes"]
    return []


def _no_images() -> list[str]:
    if settings.AGENT_RUNTIME != "kubernetes":
        return []
    needed = {
        "POD_IMAGE": "name the image of this project, which every pod's gateway runs from",
        "ENGINE_IMAGES": "name an image for each engine, such as pi=<image>",
    }
    return [f"{name}: {what}" for name, what in needed.items() if not getattr(settings, name)]


def _shown_codes() -> list[str]:
    if settings.SHOW_DEV_CODES:
        return ["SHOW_DEV_CODES: whoever knows an address could sign in as its owner; leave it off"]
    return []


@register(Tags.security, deploy=True)
def console_apart_from_pods(**_: Any) -> list[CheckMessage]:
    """A pod below the console's domain could set and read its cookies."""
    host = (urlsplit(settings.BASE_URL).hostname or "").lower()
    if host == settings.PLATFORM_DOMAIN or host.endswith(f".{settings.PLATFORM_DOMAIN}"):
        message = f"BASE_URL's host {host} lies under PLATFORM_DOMAIN {settings.PLATFORM_DOMAIN}"
        return [Error(message, hint="Serve pods on a domain of their own.", id="agentpods.E001")]
    return []


@register(Tags.security, deploy=True)
def console_over_https(**_: Any) -> list[CheckMessage]:
    if settings.BASE_URL.startswith("https://"):
        return []
    return [Error("BASE_URL is not https://", hint="Tokens and codes would travel in the clear.", id="agentpods.E002")]


@register(Tags.security, deploy=True)
def codes_are_mailed_only(**_: Any) -> list[CheckMessage]:
    if not settings.SHOW_DEV_CODES:
        return []
    return [Error("SHOW_DEV_CODES is on: anybody can sign in as anybody", id="agentpods.E003")]


@register(Tags.database, deploy=True)
def stores_are_given(**_: Any) -> list[CheckMessage]:
    """The embedded servers are for one machine: no backup, no replica."""
    home = settings.AGENTPODS_HOME
    own = {"DATABASE_URL": embedded.postgres_url(home), "REDIS_URL": embedded.redis_url(home)}
    used = [
        name
        for name, url in own.items()
        if getattr(settings, name) == url or str(home) in unquote(getattr(settings, name))
    ]
    return [CheckWarning(f"{name} is not set: the embedded server is in use", id="agentpods.W001") for name in used]
