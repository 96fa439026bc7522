"""What one mailbox is: many spellings of an address, one canonical form; many addresses, one inbox."""

from __future__ import annotations

import re

import idna
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

MAX_LENGTH = 254
WITHOUT_DOTS = ("gmail.com", "googlemail.com")  # a provider of so many that its rule is worth knowing

_check_shape = EmailValidator()


class NotAnAddress(ValidationError):  # as the rule says it
    """The text is not an e-mail address that we can mail to."""


def canonical(address: str) -> str:
    """The lower-case form with an ASCII domain, under which a mailbox has its account.

    `Ann@BÜCHER.example` and `ann@xn--bcher-kva.example` are one mailbox. What comes before the @ must be ASCII: mail to
    anything else needs SMTPUTF8 on every hop. Raises NotAnAddress.
    """
    _check_length(address)
    local, _, domain = address.rpartition("@")
    if not (local.isascii() and local.isprintable()):
        raise NotAnAddress("what comes before the @ must be ASCII letters, digits and signs")
    plain = f"{local}@{_ascii_domain(domain)}".lower()
    _check_length(plain)
    try:
        _check_shape(plain)
    except ValidationError as error:
        raise NotAnAddress("must be an e-mail address such as ann@example.com") from error
    return plain


def inbox(address: str) -> str:
    """Where mail to this canonical address lands, as far as its spelling tells: what limits by mailbox count.

    `ann+shop@example.com` is an address, and so an account, of its own, and lands with `ann@example.com`; Gmail also
    ignores dots. `"ann"@example.com` is that mailbox too, and so is every spelling with backslashes (RFC 5321, 4.1.2).
    """
    local, _, domain = address.rpartition("@")
    local = _unquoted(local)
    name = local.split("+", 1)[0] or local
    if domain not in WITHOUT_DOTS:
        return f"{name}@{domain}"
    return f"{name.replace('.', '')}@{WITHOUT_DOTS[0]}"


def _unquoted(local: str) -> str:
    if len(local) < len('""') or not (local.startswith('"') and local.endswith('"')):
        return local
    return re.sub(r"\\(.)", r"\1", local[1:-1])


def _check_length(address: str) -> None:
    if len(address) > MAX_LENGTH:
        raise NotAnAddress(f"must have at most {MAX_LENGTH} characters")


def _ascii_domain(domain: str) -> str:
    if domain.isascii():
        return domain
    try:
        return idna.encode(domain, uts46=True).decode("ascii")
    except idna.IDNAError as error:
        raise NotAnAddress("the domain after the @ is not a valid international domain name") from error
