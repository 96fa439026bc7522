"""The programs that may ask for a key: our own command, and those that describe themselves at their client id."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from authlib.oauth2.rfc6749 import ClientMixin
from authlib.oauth2.rfc8628 import DEVICE_CODE_GRANT_TYPE

from accounts.models import KEY_NAME_LENGTH
from accounts.oauth import addresses, documents
from accounts.oauth.documents import BadDocument, HostAway
from accounts.oauth.models import ADDRESS_LENGTH, OAuthClient
from accounts.scopes import Scope

CODE_GRANT_TYPE = "authorization_code"
USUAL_SCOPES = (Scope.READ, Scope.OPERATE)  # of a program that asks for none
FRESH = timedelta(hours=1)
KEPT = timedelta(days=7)  # of a document that nobody asks for
LAST_GOOD = timedelta(days=1)  # how long a document is used whose host cannot be reached
MAX_REDIRECT_URIS = 20
SHOWN_HOST = 40  # characters, in the name of a key
_SECRETS = {"client_secret", "client_secret_expires_at"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingProgram(ClientMixin):  # type: ignore[misc]  # the library has no types
    """One program, as Authlib asks about it. None has a secret: each proves itself by PKCE or a device code."""

    client_id: str
    name: str
    redirect_uris: tuple[str, ...] = ()
    grant_types: tuple[str, ...] = (CODE_GRANT_TYPE,)

    @property
    def host(self) -> str:
        """Who describes the program: the host of its document, or empty for our own command."""
        return urlsplit(self.client_id).hostname or ""

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str | None:
        return self.redirect_uris[0] if len(self.redirect_uris) == 1 else None

    def get_allowed_scope(self, scope: str | None) -> str:
        asked = (scope or "").split()
        return " ".join(one for one in Scope if one in asked) or " ".join(USUAL_SCOPES)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        is_known = redirect_uri in self.redirect_uris
        return is_known or any(_is_same_but_for_port(redirect_uri, one) for one in self.redirect_uris)

    def check_client_secret(self, _: str) -> bool:
        return False

    def check_endpoint_auth_method(self, method: str, _: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code" and CODE_GRANT_TYPE in self.grant_types

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.grant_types


COMMAND = AskingProgram(client_id="agentpods-cli", name="agentpods", grant_types=(DEVICE_CODE_GRANT_TYPE,))


def key_name(name: str, client_id: str) -> str:
    """What the key of a program is called: its own name, and the host that describes it. Anybody may take any name, but
    not the host of somebody else. Of a long host the end is shown, which tells whose it is.
    """
    host = urlsplit(client_id).hostname or ""
    if not host or name == host:
        return name
    shown = host if len(host) <= SHOWN_HOST else f"…{host[1 - SHOWN_HOST :]}"
    return f"{name[: KEY_NAME_LENGTH - len(shown) - 3].strip()} ({shown})"


def known(client_id: str) -> AskingProgram | None:
    """Our own command, or a program whose document we have read."""
    if client_id == COMMAND.client_id:
        return COMMAND
    row = OAuthClient.objects.filter(pk=client_id).first() if documents.is_address(client_id) else None
    return _client(row) if row else None


def is_fresh(client_id: str, *, now: datetime) -> bool:
    """Whether nothing has to be fetched for this client id."""
    if not documents.is_address(client_id):
        return True
    return OAuthClient.objects.filter(pk=client_id, fetched_at__gt=now - FRESH).exists()


def read_document(client_id: str, *, by: str, now: datetime) -> AskingProgram:
    """Fetch and store what a program says of itself, for this person or household. Raises BadDocument, Unavailable.

    If its host cannot be reached, what it said last counts for a while: people may connect the program all the same.
    """
    try:
        found = documents.fetched(client_id, by=by)
    except HostAway:
        row = OAuthClient.objects.filter(pk=client_id, fetched_at__gt=now - LAST_GOOD).first()
        if row is None:
            raise
        return _client(row)
    if found.get("token_endpoint_auth_method", "none") != "none" or _SECRETS & set(found):
        raise BadDocument("the program must be a public one (token_endpoint_auth_method none, no client_secret)")
    values = {
        "name": _name(found, client_id),
        "redirect_uris": _redirect_uris(found),
        "grant_types": _grant_types(found),
        "fetched_at": now,
    }
    row, _ = OAuthClient.objects.update_or_create(id=client_id, defaults=values)
    return _client(row)


def _client(row: OAuthClient) -> AskingProgram:
    return AskingProgram(
        client_id=row.pk,
        name=row.name,
        redirect_uris=tuple(row.redirect_uris),
        grant_types=tuple(row.grant_types),
    )


def _name(found: Mapping[str, Any], client_id: str) -> str:
    """The program's name as one line of text, else its host."""
    given = found.get("client_name")
    shown = given if isinstance(given, str) else ""
    text = "".join(" " if unicodedata.category(one)[0] == "C" else one for one in shown)
    return " ".join(text.split())[:KEY_NAME_LENGTH].strip() or str(urlsplit(client_id).hostname)[:KEY_NAME_LENGTH]


def _redirect_uris(found: Mapping[str, Any]) -> list[str]:
    given = found.get("redirect_uris")
    if not isinstance(given, list) or not 1 <= len(given) <= MAX_REDIRECT_URIS:
        raise BadDocument(f"the document must have 1 to {MAX_REDIRECT_URIS} redirect_uris")
    for one in given:
        if not isinstance(one, str) or len(one) > ADDRESS_LENGTH or not _may_lead_back(one):
            raise BadDocument("the document's redirect_uris must be https, or http to a loopback address")
    return given


def _grant_types(found: Mapping[str, Any]) -> list[str]:
    given = found.get("grant_types", [CODE_GRANT_TYPE])
    ours = [one for one in (CODE_GRANT_TYPE, DEVICE_CODE_GRANT_TYPE) if isinstance(given, list) and one in given]
    if not ours:
        raise BadDocument(f"the document's grant_types must have {CODE_GRANT_TYPE} or {DEVICE_CODE_GRANT_TYPE}")
    return ours


def _may_lead_back(address: str) -> bool:
    parts = addresses.parts_of(address)
    return parts is not None and (parts.scheme == "https" or addresses.is_loopback(parts))


def _is_same_but_for_port(asked: str, registered: str) -> bool:
    """RFC 8252, 7.3: a program on a person's machine listens on any free port."""
    one, other = addresses.parts_of(asked), addresses.parts_of(registered)
    if one is None or other is None or not (addresses.is_loopback(one) and addresses.is_loopback(other)):
        return False
    is_same = (one.hostname, one.path, one.query) == (other.hostname, other.path, other.query)
    return is_same and len(asked) <= ADDRESS_LENGTH
