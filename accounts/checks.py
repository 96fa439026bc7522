"""The checks of `check` about the settings of the OIDC provider."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from accounts.oidc import http, provider
from accounts.roles import ROLES


@register(Tags.security)
def provider_is_whole(**_: Any) -> list[CheckMessage]:
    """Check that the provider has an issuer with https and a client, and that its groups give roles that exist."""
    found: list[CheckMessage] = []
    if bool(settings.OIDC_ISSUER) != bool(settings.OIDC_CLIENT_ID):
        missing = "OIDC_CLIENT_ID" if settings.OIDC_ISSUER else "OIDC_ISSUER"
        found.append(Error(f"{missing} is not set: nobody can sign in with the provider", id="agentpods.E008"))
    if provider.is_on() and not http.is_safe(settings.OIDC_ISSUER):
        found.append(Error("OIDC_ISSUER is not https://: everybody on the way could sign in", id="agentpods.E009"))
    if unknown := sorted(set(settings.OIDC_ROLES.values()) - set(ROLES)):
        hint = f"The roles are {', '.join(ROLES)}."
        found.append(Error(f"OIDC_ROLES has no such role: {', '.join(unknown)}", hint=hint, id="agentpods.E010"))
    return found
