"""What an owner sets for the agent's egress broker: the list of hosts, and secrets that the broker adds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents import timeline
from agents.configuring import configuration
from agents.errors import NoSuchEgressSecret
from agents.models import Agent, Egress, Reason
from agents.pod.gateway.egress.headers import is_settable, plain
from agents.pod.gateway.egress.hosts import BadHostError, HostRule
from config.crypto import readable
from config.errors import BadRequest

MOST_HOSTS = 200
MOST_SECRETS = 32
MOST_SECRET_HOSTS = 16
MOST_PREFIX_CHARACTERS = 32
# Shorter secrets cannot be masked in answers without masking ordinary words.
VALUE_CHARACTERS = range(8, 4097)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

StoredSecret = dict[str, Any]  # name, hosts, header, prefix, value, set_at


def of(agent: Agent) -> Egress:
    """The agent's egress rules; a row that is not stored if it never had any."""
    found = Egress.objects.filter(pk=agent.pk).first()
    return readable(found) if found else Egress(agent=agent)


@transaction.atomic
def replace(agent: Agent, *, is_limited: bool, hosts: Sequence[str], actor: str) -> Egress:
    """Switch the list on or off, and set its hosts. Secrets stay. A running pod takes it without a restart of its
    engine, unless the engine did not use the broker before.
    """
    agent, egress = _locked(agent)
    egress.is_limited, egress.hosts = is_limited, _hosts(hosts, where="hosts")
    egress.is_walled = False  # until the pod tells it of the new configuration
    words = f"egress list {'on' if is_limited else 'off'}: {len(egress.hosts)} hosts"
    return _save(agent, egress, words, fields=["is_limited", "hosts", "is_walled"], actor=actor)


@transaction.atomic
def put_secret(
    agent: Agent,
    name: str,
    *,
    hosts: Sequence[str],
    header: str,
    prefix: str = "",
    value: str | None = None,
    actor: str,
) -> Egress:
    """Add a secret, or replace the one of this name. Without a value, the stored value stays; new hosts need it again,
    so that nobody who does not know a secret can have it sent to another host.
    """
    if not _NAME.fullmatch(name):
        raise BadRequest("name: must be 1 to 64 letters, digits, '-' or '_', and begin with a letter")
    agent, egress = _locked(agent)
    old = next((one for one in egress.secrets if one["name"] == name), None)
    others = [one for one in egress.secrets if one["name"] != name]
    if old is None and len(others) >= MOST_SECRETS:
        raise BadRequest(f"name: an agent has at most {MOST_SECRETS} secrets")
    wanted = _hosts(hosts, where="hosts")
    if not wanted:
        raise BadRequest("hosts: at least one")
    _check_header(header, prefix)
    _check_clash(header, wanted, others)
    now = timezone.now()
    kept = {"name": name, "hosts": wanted, "header": header, "prefix": prefix}
    egress.secrets = [*others, {**kept, **_value(value, old, wanted, now=now)}]
    return _save(agent, egress, f"egress secret {name} set", fields=["secrets"], actor=actor)


@transaction.atomic
def remove_secret(agent: Agent, name: str, *, actor: str) -> Egress:
    """Forget the secret. Raises NoSuchEgressSecret."""
    agent, egress = _locked(agent)
    kept = [one for one in egress.secrets if one["name"] != name]
    if len(kept) == len(egress.secrets):
        raise NoSuchEgressSecret
    egress.secrets = kept
    return _save(agent, egress, f"egress secret {name} removed", fields=["secrets"], actor=actor)


def _locked(agent: Agent) -> tuple[Agent, Egress]:
    agent = configuration.locked(agent)
    Egress.objects.get_or_create(agent=agent)
    return agent, readable(Egress.objects.select_for_update().get(pk=agent.pk))


def _save(agent: Agent, egress: Egress, words: str, *, fields: list[str], actor: str) -> Egress:
    egress.save(update_fields=fields)
    configuration.save(agent, fields=[])
    timeline.note(agent, words, reason=Reason.OWNER, actor=actor, now=timezone.now())
    return egress


def _hosts(hosts: Sequence[str], *, where: str) -> list[str]:
    """The entries in their one spelling, each once. Raises BadRequest that names the first wrong one."""
    found: dict[str, None] = {}
    for index, text in enumerate(hosts):
        try:
            found[str(HostRule.read(text))] = None
        except BadHostError as error:
            raise BadRequest(f"{where}[{index}]: {text[:100]!r} {error}") from error
    return list(found)


def _check_header(header: str, prefix: str) -> None:
    if not is_settable(header):
        raise BadRequest(f"header: {header[:100]!r} is no header's name, or one that the connection itself sets")
    if not (prefix.isascii() and prefix.isprintable()) or prefix != prefix.lstrip():
        raise BadRequest("prefix: must be printable ASCII that does not begin with white space")


def _check_clash(header: str, hosts: list[str], others: list[StoredSecret]) -> None:
    """Raise BadRequest if another secret has the same header at the same host: only one of them could be sent."""
    rules = list(map(HostRule.read, hosts))
    for one in others:
        if plain(one["header"]) == plain(header) and any(
            rule.overlaps(HostRule.read(taken)) for rule in rules for taken in one["hosts"]
        ):
            raise BadRequest(f"header: the secret {one['name']!r} has {header} at one of these hosts already")


def _value(value: str | None, old: StoredSecret | None, hosts: list[str], *, now: datetime) -> StoredSecret:
    if value is None:
        if old is None or not set(hosts) <= set(old["hosts"]):
            raise BadRequest("value: needed for a new secret, and again for each new host")
        return {"value": old["value"], "set_at": old["set_at"]}
    if len(value) not in VALUE_CHARACTERS:
        raise BadRequest(f"value: must have {VALUE_CHARACTERS.start} to {VALUE_CHARACTERS.stop - 1} characters")
    if not (value.isascii() and value.isprintable()) or value != value.strip():
        raise BadRequest("value: must be printable ASCII without white space around it")
    return {"value": value, "set_at": now.isoformat()}
