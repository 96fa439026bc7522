"""The owner's rules in the gateway's form: which hosts may be asked, and which secrets go to which of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

from agents.pod.gateway.egress.hosts import TLS_PORT, HostRule, Target
from config.public_networks import Network

_TLS = frozenset({TLS_PORT})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokeredSecret:
    """A header for some hosts. It goes out over TLS only."""

    hosts: tuple[HostRule, ...]
    header: str
    value: str = field(repr=False)  # as it is sent, with its prefix
    clear: str = field(repr=False)  # the secret alone, to be masked in answers

    def goes_to(self, target: Target) -> bool:
        return any(rule.matches(target, ports=_TLS) for rule in self.hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressRules:
    is_on: bool = False  # whether the agent uses the broker at all
    is_limited: bool = False  # whether only the hosts of the list may be asked
    hosts: tuple[HostRule, ...] = ()
    secrets: tuple[BrokeredSecret, ...] = ()
    networks: tuple[Network, ...] = ()  # that pods may reach beside the public internet

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> EgressRules:
        """From the pod's secrets, where `agents/egress/told.py` has put them."""
        secrets = tuple(
            BrokeredSecret(
                hosts=tuple(map(HostRule.read, one["hosts"])),
                header=one["header"],
                value=one["prefix"] + one["value"],
                clear=one["value"],
            )
            for one in raw.get("secrets", ())
        )
        return cls(
            is_on=bool(raw),
            is_limited=bool(raw.get("limited")),
            hosts=tuple(map(HostRule.read, raw.get("hosts", ()))),
            secrets=secrets,
            networks=tuple(map(ip_network, raw.get("networks", ()))),
        )

    def allow(self, target: Target) -> bool:
        """Whether the engine may ask this host. The hosts of a secret are allowed without being on the list."""
        return not self.is_limited or any(rule.matches(target) for rule in self.hosts) or bool(self.secrets_of(target))

    def secrets_of(self, target: Target) -> tuple[BrokeredSecret, ...]:
        return tuple(secret for secret in self.secrets if secret.goes_to(target))
