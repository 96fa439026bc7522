"""Which person the provider's claims are of, whether they get in, and with which roles."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group
from django.db import transaction

from accounts import console_sessions, mailbox, roles
from accounts.console_models import ProviderIdentity
from accounts.models import User
from config.audit import Acting, note
from config.errors import Forbidden

MOST_GROUPS = 2_000
# RFC 8176: words with which a provider says that it asked for more than a password.
STRONG = {"mfa", "hwk", "swk", "sc"}
ROLES, LOST = "Roles changed by the provider", "Roles lost at the provider"


class NotAnOperator(Forbidden):
    """`why` is for the audit log."""

    message = "The provider knows you, but you have no role here. Ask an owner of this platform."

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


def person(claims: Mapping[str, Any], *, now: datetime, address: str) -> User:
    """The operator of these claims, with the roles that they say. Raises NotAnOperator."""
    with transaction.atomic():
        given = _roles(claims)
        identity = _known(claims)
        user = identity.user if identity else _by_address(claims, may_be_new=bool(given))
        if not user.is_active or user.closed_at or user.is_erased:
            raise NotAnOperator("the account is suspended or closed")
        identity = identity or _linked(user, claims, now=now)
        by = Acting(who=user.email, who_id=user.pk, address=address)
        is_out = _follow(user, identity, given, by=by)
    if is_out:
        raise NotAnOperator("no group of the person has a role any more")
    return user


def has_second_factor(claims: Mapping[str, Any]) -> bool:
    """Whether the provider has asked the person for a second factor."""
    methods = claims.get("amr")
    said = {one for one in methods if isinstance(one, str)} if isinstance(methods, list) else set()
    return settings.OIDC_SECOND_FACTOR or bool(said & STRONG)


def _roles(claims: Mapping[str, Any]) -> set[str]:
    told = claims.get(settings.OIDC_GROUPS_CLAIM)
    groups = [told] if isinstance(told, str) else told if isinstance(told, list) else []
    known = [one for one in groups[:MOST_GROUPS] if isinstance(one, str)]
    return {settings.OIDC_ROLES[one] for one in known if settings.OIDC_ROLES.get(one) in roles.ROLES}


def _known(claims: Mapping[str, Any]) -> ProviderIdentity | None:
    rows = ProviderIdentity.objects.select_related("user")
    return rows.filter(issuer=settings.OIDC_ISSUER, subject=claims["sub"]).first()


def _by_address(claims: Mapping[str, Any], *, may_be_new: bool) -> User:
    """The account of the person's address, at their first sign-in.

    Only an address that the provider has verified counts, because anybody can write another one into their profile.
    """
    if claims.get("email_verified") not in (True, "true"):
        raise NotAnOperator("the provider has not verified the address")
    try:
        email = mailbox.canonical(str(claims.get("email", "")))
    except mailbox.NotAnAddress as error:
        raise NotAnOperator("no address") from error
    user = User.objects.filter(email=email).first()
    if user is None and may_be_new:
        return User.objects.get_or_create(email=email, defaults={"password": make_password(None)})[0]
    if user is None or not (user.is_staff or may_be_new):
        raise NotAnOperator("no operator, and no group with a role")
    return user


def _linked(user: User, claims: Mapping[str, Any], *, now: datetime) -> ProviderIdentity:
    """From now on the provider's own id finds the person. An address that another person gets later does not."""
    values = {"issuer": settings.OIDC_ISSUER, "subject": claims["sub"], "created_at": now}
    identity, _ = ProviderIdentity.objects.get_or_create(user=user, defaults=values)
    if (identity.issuer, identity.subject) != (settings.OIDC_ISSUER, claims["sub"]):
        raise NotAnOperator("the account belongs to another person of the provider: reset its sign-in")
    return identity


def _follow(user: User, identity: ProviderIdentity, given: set[str], *, by: Acting) -> bool:
    """Give the person exactly these of the roles that the provider decides on. Returns whether the person is out.

    Who never got a role from the provider keeps those that owners gave.
    """
    if not given and not identity.gives_roles:
        return not user.is_staff
    before = set(user.groups.values_list("name", flat=True))
    after = given | (before - set(roles.ROLES))
    is_out = not given and not user.is_superuser
    if before != after:
        user.groups.set(Group.objects.filter(name__in=after))
        changes = [("groups", ", ".join(sorted(before)), ", ".join(sorted(after)))]
        note(LOST if is_out else ROLES, user, changes=changes, by=by)
    if user.is_staff == is_out:
        User.objects.filter(pk=user.pk).update(is_staff=not is_out)
        user.is_staff = not is_out
    if given and not identity.gives_roles:
        ProviderIdentity.objects.filter(pk=identity.pk).update(gives_roles=True)
    if is_out:
        console_sessions.end_all(user)
    return is_out
