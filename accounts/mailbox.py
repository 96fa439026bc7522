"""E-mail addresses: many spellings have one canonical form, and several addresses can have one inbox."""

from __future__ import annotations

import re

import idna
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

MAX_LENGTH = 254
WITHOUT_DOTS = ("gmail.com", "googlemail.com")  # this provider has so many users that its rule is worth a special case

_check_shape = EmailValidator()


class NotAnAddress(ValidationError):  # short, as it reads in the rules
    """The text is not an e-mail address to which we can mail."""


def canonical(address: str) -> str:
    """The canonical form of an address: lower case, with an ASCII domain. A mailbox has one account, under this form.

    `Ann@BÜCHER.example` and `ann@xn--bcher-kva.example` are one mailbox. The part before the @ must be ASCII, because
    other characters need SMTPUTF8 on every hop. Raises NotAnAddress.
    """
    _check_length(address)
    local, _, domain = address.rpartition("@")
    if not (local.isascii() and local.isprintable()):
        raise NotAnAddress("the part before the @ must be ASCII letters, digits and signs")
    plain = f"{local}@{_ascii_domain(domain)}".lower()
    _check_length(plain)
    try:
        _check_shape(plain)
    except ValidationError as error:
        raise NotAnAddress("must be an e-mail address such as ann@example.com") from error
    return plain


def inbox(address: str) -> str:
    """The inbox to which mail for this canonical address goes, as far as the spelling shows. Limits by mailbox use it.

    `ann+shop@example.com` is another address than `ann@example.com`, with an account of its own, but has the same
    inbox. Gmail also ignores dots. `"ann"@example.com` has that inbox too, and so has every spelling with backslashes
    (RFC 5321, 4.1.2).
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
