"""The customer's own hostname of an agent."""

from __future__ import annotations

import ipaddress
import re

from django.conf import settings

from agents.errors import DomainTaken
from agents.models import Agent
from config.errors import BadRequest

MAX_DOMAIN_CHARACTERS = 253
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")


def normalised(domain: str) -> str:
    """The hostname in lower-case ASCII. Raises BadRequest when it is none, or lies under the platform's own domain."""
    try:
        host = domain.strip().lower().encode("idna").decode() if not domain.isascii() else domain.strip().lower()
    except UnicodeError as error:
        raise BadRequest(f"domain: {domain!r} is not a hostname") from error
    labels = host.split(".")
    if len(host) > MAX_DOMAIN_CHARACTERS or len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadRequest(f"domain: {domain!r} is not a hostname such as agent.example.com")
    if _is_address(host) or labels[-1].isdigit():
        raise BadRequest(f"domain: {domain!r} is an address, not a hostname")
    _refuse_platform_domain(host)
    return host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refuse_platform_domain(host: str) -> None:
    names = [settings.PLATFORM_DOMAIN, *settings.CONSOLE_HOSTS]
    for own in (name.removeprefix(".").lower() for name in names):  # `.example.com` stands for all below it
        if host == own or host.endswith(f".{own}"):
            raise BadRequest(f"domain: names under {own} are assigned automatically; give your own, or none")


def refuse_taken(domain: str) -> None:
    """Raise DomainTaken while another agent holds it; the unique constraint is what makes it certain."""
    if Agent.objects.live().filter(domain=domain).exists():
        raise DomainTaken(domain)
