"""Which hostnames a customer may give."""

from __future__ import annotations

import functools
import re

import idna
from django.conf import settings
from publicsuffixlist import PublicSuffixList

from config.errors import BadRequest
from config.public_networks import address_of

MAX_CHARACTERS = 253
PROOF_PREFIX = "_agentpods."  # before the name; the TXT record is there
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
# These names only mean something inside one network.
_LOCAL_ENDINGS = (
    "localhost",
    "local",
    "internal",
    "svc",
    "cluster.local",
    "home.arpa",
    "in-addr.arpa",
    "ip6.arpa",
    "onion",
)


def normalised(domain: str) -> str:
    """The hostname in lower-case ASCII without a dot at the end. Raises BadRequest for a name that a customer may not
    have."""
    host = _ascii(domain.strip().removesuffix("."), given=domain)
    labels = host.split(".")
    if host.startswith("*"):
        raise BadRequest(f"domain: {domain!r} is a wildcard; give one hostname, such as agent.example.com")
    if len(host) > MAX_CHARACTERS or len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadRequest(
            f"domain: {_shown(domain)} is not a hostname such as agent.example.com"
            f" (at most {MAX_CHARACTERS} characters, 63 in each label)"
        )
    if address_of(host) or labels[-1].isdigit():
        raise BadRequest(f"domain: {domain!r} is an address, not a hostname")
    _refuse_others(host)
    return host


def refuse_unprovable(host: str) -> None:
    """Raise BadRequest for a name that is so long that its TXT record cannot exist."""
    if len(PROOF_PREFIX + host) > MAX_CHARACTERS:
        room = MAX_CHARACTERS - len(PROOF_PREFIX)
        raise BadRequest(f"domain: longer than {room} characters, so that {PROOF_PREFIX}<domain> cannot be a name")


def _ascii(text: str, *, given: str) -> str:
    """The name with each label as DNS has it. International labels follow IDNA 2008, after the mapping of UTS 46."""
    try:
        if not text.isascii():
            # The mapping turns four kinds of dots into one. A name that is far too long is refused before this work.
            return idna.encode(text, uts46=True, std3_rules=True).decode() if len(text) <= MAX_CHARACTERS else text
        host = text.lower()
        for label in host.split("."):
            if label.startswith("xn--"):
                idna.decode(label)
    except (idna.IDNAError, UnicodeError) as error:
        raise BadRequest(f"domain: {_shown(given)} is not a hostname: {error}") from error
    return host


def _shown(domain: str) -> str:
    return repr(domain if len(domain) <= 80 else f"{domain[:80]}…")


def _refuse_others(host: str) -> None:
    """Refuse our own names, public suffixes, and names that only exist inside one network."""
    for own in _own_names():
        if lies_below(host, own):
            raise BadRequest(
                f"domain: names under {own} are assigned automatically; give a domain of your own, or none"
            )
    if any(lies_below(host, ending) for ending in _LOCAL_ENDINGS):
        raise BadRequest(f"domain: {host!r} is a name for local networks only; give a public hostname")
    if _suffixes().publicsuffix(host) == host:
        raise BadRequest(
            f"domain: {host!r} is a public suffix, under which different owners have names; give a name of your own"
        )


def lies_below(host: str, other: str) -> bool:
    return host == other or host.endswith(f".{other}")


def _own_names() -> set[str]:
    """The registered names of the console and the platform: all names below them are ours."""
    # `.example.com` in ALLOWED_HOSTS means all names below it.
    names = [settings.PLATFORM_DOMAIN, *(host.removeprefix(".").lower() for host in settings.CONSOLE_HOSTS)]
    return {registrable(name) for name in names}


@functools.lru_cache(maxsize=256)
def registrable(host: str) -> str:
    """The registered name above this one; the name itself when that is not known."""
    return _suffixes().privatesuffix(host) or host


@functools.cache
def _suffixes() -> PublicSuffixList:
    """The list that comes with the library; nothing is downloaded."""
    return PublicSuffixList()
