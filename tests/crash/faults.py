"""The plan of a campaign: which fault happens at which second. It depends only on the seed, so a seed repeats it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class KilledKind(StrEnum):
    WEB = "web"
    WORKER = "worker"
    WORKER_WEBHOOKS = "worker-webhooks"
    BEAT = "beat"
    ROUTER = "router"
    REDIS = "redis"
    POSTGRES = "postgres"
    BACKEND = "postgres-backend"
    GATEWAY = "gateway"
    BRIDGE = "bridge"
    ENGINE = "engine"
    GATEWAY_HANGS = "gateway-hangs"  # SIGSTOP, and nobody ever continues the process
    POSTGRES_RESTART = "postgres-restart"  # SIGINT: an orderly, fast shutdown
    REDIS_WIPE = "redis-wipe"  # FLUSHALL
    REDIS_HANGS = "redis-hangs"  # SIGSTOP for a minute
    REDIS_AWAY = "redis-away"  # killed for a minute, each time that it is started again


@dataclass(frozen=True, slots=True)
class Kill:
    second: float
    kind: KilledKind
    choice: int  # which of the processes of that kind, modulo their number
    lasts: float = 0.0

    def __str__(self) -> str:
        return f"{self.second:6.1f} {self.kind}" + (f" for {self.lasts:.0f} s" if self.lasts else "")


# A round has each kind of fault as often as it stands here; most of them hit pods.
ROUND = [kind for kind in KilledKind if kind not in {KilledKind.REDIS_HANGS, KilledKind.REDIS_AWAY}]
ROUND += [KilledKind.GATEWAY, KilledKind.BRIDGE, KilledKind.ENGINE, KilledKind.ENGINE]
PAUSES = (2.5, 7.5)
# While only Redis is away there are no other faults, so that Redis is the cause of each refused request.
QUIET_BEFORE, QUIET_AFTER = 12.0, 3.0
LONGEST_AWAY = 60.0
CHOICES = 10_000


def plan(seed: str, seconds: float) -> list[Kill]:
    """All faults of a campaign with this length, in their order."""
    dice = random.Random(f"faults of {seed}")
    long = _long_ones(dice, seconds)
    part = min(1.0, seconds / 300)
    short = [fault for fault in _short_ones(dice, seconds) if not any(_is_quiet(fault, one, part) for one in long)]
    return sorted([*long, *short], key=lambda fault: fault.second)


def _long_ones(dice: random.Random, seconds: float) -> list[Kill]:
    """Both ways for Redis to be away, one in each half: a minute each, or a tenth of a short campaign."""
    lasts = min(LONGEST_AWAY, seconds / 10)
    kinds = dice.sample([KilledKind.REDIS_HANGS, KilledKind.REDIS_AWAY], 2)
    return [Kill(seconds * part, kind, 0, lasts) for part, kind in zip((0.3, 0.7), kinds, strict=True)]


def _short_ones(dice: random.Random, seconds: float) -> Iterator[Kill]:
    second, cards = dice.uniform(*PAUSES), list[KilledKind]()
    while second < seconds:
        cards = cards or dice.sample(ROUND, len(ROUND))
        yield Kill(second, cards.pop(), dice.randrange(CHOICES))
        second += dice.uniform(*PAUSES)


def _is_quiet(fault: Kill, long: Kill, part: float) -> bool:
    return long.second - QUIET_BEFORE * part < fault.second < long.second + long.lasts + QUIET_AFTER * part
