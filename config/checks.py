"""The conditions for a start in production, and the checks of `check --deploy`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import idna
from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning
from django.core.exceptions import ImproperlyConfigured

from config import embedded
from config.public_networks import address_of

MIN_SECRET_KEY_LENGTH = 50


def refusals() -> list[str]:
    """The reasons why this process may not start; an empty list if there are none.

    In development only malformed keys and incomplete TLS settings count: missing secrets are generated.
    """
    if settings.DEVELOPMENT:
        return [*_malformed_keys(), *_half_tls()]
    return [
        *_half_tls(),
        *_missing_or_default_secrets(),
        *_malformed_keys(),
        *_no_pods(),
        *_shown_codes(),
    ]


def _missing_or_default_secrets() -> list[str]:
    found = []
    if len(_secret_key()) < MIN_SECRET_KEY_LENGTH or _secret_key() == settings.DEVELOPMENT_SECRET_KEY:
        found.append(f"SECRET_KEY: set a random text of at least {MIN_SECRET_KEY_LENGTH} characters")
    if not settings.SECRETS_KEYS or settings.DEVELOPMENT_SECRETS_KEY in settings.SECRETS_KEYS:
        found.append("SECRETS_KEYS: set at least one Fernet key of your own, newest first, separated by commas")
    return found


def _secret_key() -> str:
    """The key, or an empty text. Django raises for an empty key, and would hide what else is missing."""
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


def _no_pods() -> list[str]:
    if settings.AGENT_RUNTIME == "local":
        return ["AGENT_RUNTIME: local runs engines without isolation beside the control plane; use kubernetes"]
    if settings.AGENT_RUNTIME != "kubernetes":
        return []
    needed = {
        "POD_IMAGE": "name the image of this project, which every pod's gateway runs from",
        "ENGINE_IMAGES": "name an image for each engine, such as pi=<image>",
    }
    return [f"{name}: {what}" for name, what in needed.items() if not getattr(settings, name)]


def _half_tls() -> list[str]:
    """Check the settings of TLS=auto.

    With it, hostnames get certificates if their DNS record is EXPECTED_IP. The console's hostname is one of them.
    """
    found = []
    if settings.ACME_ROOTS and not Path(settings.ACME_ROOTS).is_file():
        found.append(f"ACME_ROOTS: there is no file {settings.ACME_ROOTS}")
    if settings.TLS != "auto":
        return found
    base = urlsplit(settings.BASE_URL)
    if base.scheme != "https" or base.hostname not in settings.CONSOLE_HOSTS:
        found.append(
            "BASE_URL: with TLS=auto it must be https:// with one of ALLOWED_HOSTS, whose DNS record points here"
        )
    if address_of(settings.EXPECTED_IP) is None:
        found.append("EXPECTED_IP: with TLS=auto it must be this server's public address, to which DNS points")
    return found


def _shown_codes() -> list[str]:
    if settings.SHOW_DEV_CODES:
        return ["SHOW_DEV_CODES: anybody who knows an e-mail address could sign in as its owner; leave it off"]
    return []


@register(Tags.security, deploy=True)
def console_apart_from_pods(**_: Any) -> list[CheckMessage]:
    """Check that the console and the pods do not share a domain.

    A page of a pod may set cookies for every domain above its hostname, except public suffixes: domains below which
    anybody can register a name. If the console and pods share a domain, pods can send cookies to the console, and
    browsers treat both as one site. Browsers have a long list of public suffixes, we do not. If one name lies below the
    other, the shared domain is no public suffix: that is an error. If both names only have the same ending, it is
    likely, so that is a warning.
    """
    pods = _host_name(settings.PLATFORM_DOMAIN)
    found: list[CheckMessage] = []
    for console in sorted(
        {_host_name(urlsplit(settings.BASE_URL).hostname or ""), *map(_host_name, settings.CONSOLE_HOSTS)}
    ):
        if _lies_below(console, pods) or _lies_below(pods, console):
            message = f"the console's host {console} and PLATFORM_DOMAIN {pods} are one below the other"
            found.append(Error(message, hint=_APART, id="agentpods.E001"))
        elif _ending(console) and _ending(console) == _ending(pods):
            message = f"the console's host {console} and PLATFORM_DOMAIN {pods} are both below {_ending(console)}"
            found.append(
                CheckWarning(message, hint=f"Unless anybody can register a name there: {_APART}", id=_SAME_SITE)
            )
    return found


_APART = "serve pods on a domain that shares nothing with the console's, such as example.net beside example.com."
_SAME_SITE = "agentpods.W002"


def _host_name(text: str) -> str:
    """The name as DNS has it, so that two spellings of an international name are equal."""
    name = text.strip().lower()
    if not name.isascii():
        with contextlib.suppress(idna.IDNAError):  # not a valid name: compare it as it is written
            name = idna.encode(name, uts46=True).decode("ascii")
    return name.strip(".")


def _lies_below(name: str, other: str) -> bool:
    return bool(other) and (name == other or name.endswith(f".{other}"))


def _ending(name: str) -> str:
    """The last two labels; an empty text for a name with one label or for an IP address."""
    *_, before, last = ["", "", *name.split(".")]
    return f"{before}.{last}" if before and not last.isdigit() else ""


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
    """Warn about the embedded servers: they serve one machine, without backups or replicas."""
    home = settings.AGENTPODS_HOME
    own = {"DATABASE_URL": embedded.postgres_url(home), "REDIS_URL": embedded.redis_url(home)}
    used = [
        name
        for name, url in own.items()
        if getattr(settings, name) == url or str(home) in unquote(getattr(settings, name))
    ]
    return [CheckWarning(f"{name} is not set: the embedded server is in use", id="agentpods.W001") for name in used]
