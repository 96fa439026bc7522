"""Passkeys (WebAuthn): a browser signs our challenge with a key that never leaves the person's device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from accounts.models import User

NAME = "Agentpods console"
LARGEST = 20_000  # characters of a browser's answer; a usual one has 1,000


class NotSigned(Exception):
    """The browser's answer proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyChallenge:
    """`options` is the JSON that the browser gets. `challenge` is in it, and must come back signed."""

    options: str
    challenge: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPasskey:
    credential: str
    public_key: str
    counter: int


def unavailable() -> str:
    """Why browsers would refuse a passkey for BASE_URL; empty if they would not."""
    parts = urlsplit(settings.BASE_URL)
    try:
        ip_address(parts.hostname or "")
    except ValueError:
        if parts.scheme == "https" or parts.hostname == "localhost":
            return ""
        return "Passkeys need BASE_URL to begin with https://."
    return "Passkeys need a name instead of an IP address in BASE_URL, such as http://localhost:8000."


def ask_to_make(user: User, *, known: Iterable[str]) -> PasskeyChallenge:
    import webauthn  # noqa: PLC0415 # only this page needs it, and it is slow to import
    from webauthn.helpers import structs  # noqa: PLC0415

    options = webauthn.generate_registration_options(
        rp_id=_site(),
        rp_name=NAME,
        user_id=user.pk.encode(),
        user_name=user.email,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.PREFERRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            structs.PublicKeyCredentialDescriptor(id=webauthn.base64url_to_bytes(one)) for one in known
        ],
    )
    return PasskeyChallenge(
        options=webauthn.options_to_json(options), challenge=webauthn.helpers.bytes_to_base64url(options.challenge)
    )


def made(answer: str, *, challenge: str) -> NewPasskey:
    """The passkey that the browser made for this challenge. Raises NotSigned."""
    import webauthn  # noqa: PLC0415

    try:
        found = webauthn.verify_registration_response(
            credential=_bounded(answer),
            expected_challenge=webauthn.base64url_to_bytes(challenge),
            expected_rp_id=_site(),
            expected_origin=_origin(),
            require_user_verification=True,
        )
    except Exception as error:  # its parsers raise more than their own errors for hostile input
        raise NotSigned from error
    text = webauthn.helpers.bytes_to_base64url
    return NewPasskey(
        credential=text(found.credential_id), public_key=text(found.credential_public_key), counter=found.sign_count
    )


def ask_to_sign(known: Iterable[str]) -> PasskeyChallenge:
    import webauthn  # noqa: PLC0415
    from webauthn.helpers import structs  # noqa: PLC0415

    options = webauthn.generate_authentication_options(
        rp_id=_site(),
        allow_credentials=[structs.PublicKeyCredentialDescriptor(id=webauthn.base64url_to_bytes(one)) for one in known],
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return PasskeyChallenge(
        options=webauthn.options_to_json(options), challenge=webauthn.helpers.bytes_to_base64url(options.challenge)
    )


def credential_of(answer: str) -> str:
    """The id of the passkey that the browser says it used. Raises NotSigned."""
    from webauthn.helpers import bytes_to_base64url, parse_authentication_credential_json  # noqa: PLC0415

    try:
        return bytes_to_base64url(parse_authentication_credential_json(_bounded(answer)).raw_id)
    except Exception as error:
        raise NotSigned from error


def signed(answer: str, *, challenge: str, public_key: str, counter: int) -> int:
    """The passkey's new counter, if the answer is its signature of the challenge. Raises NotSigned."""
    import webauthn  # noqa: PLC0415

    try:
        found = webauthn.verify_authentication_response(
            credential=_bounded(answer),
            expected_challenge=webauthn.base64url_to_bytes(challenge),
            expected_rp_id=_site(),
            expected_origin=_origin(),
            credential_public_key=webauthn.base64url_to_bytes(public_key),
            credential_current_sign_count=counter,
            require_user_verification=True,
        )
    except Exception as error:
        raise NotSigned from error
    return found.new_sign_count


def _bounded(answer: str) -> str:
    if len(answer) > LARGEST:
        raise NotSigned
    return answer


def _site() -> str:
    return urlsplit(settings.BASE_URL).hostname or ""


def _origin() -> str:
    parts = urlsplit(settings.BASE_URL)
    return f"{parts.scheme}://{parts.netloc}"
