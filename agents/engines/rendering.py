"""What the adapters of several engines render in the same way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.engines.base import EnginePlace
from agents.runtimes.base import PodConfig


def environment(config: PodConfig, place: EnginePlace, *programs: Path) -> dict[str, str]:
    """The variables that every engine gets; `programs` are directories with more programs. An engine's environment is
    complete: nothing is inherited from the bridge.
    """
    found = [*map(str, programs), str(place.node.parent), "/usr/local/bin", "/usr/bin", "/bin"]
    return {
        "PATH": ":".join(found),
        "HOME": str(place.data / "home"),
        "TMPDIR": str(place.data / "tmp"),
        "LANG": "C.UTF-8",
        "TZ": config.timezone or "UTC",
    }


def heap(place: EnginePlace, *, least: int, most: int) -> str:
    """The limit of V8's heap in MiB, which does not see the container's limit. It is half of the tier's memory, so that
    tools and helpers have room.
    """
    return f"--max-old-space-size={min(max(place.memory_bytes >> 21, least), most)}"


def json_file(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def chosen_model(
    config: PodConfig, providers: Mapping[str, tuple[str, str]], *, own_server: str
) -> tuple[str, str] | None:
    """The engine's names of provider and model, from its names of providers; None without a model. `own_server` is the
    provider that uses chat completions only. With openai and xai such an engine uses the Responses API, which few model
    servers other than the vendors' have.
    """
    known = providers.get(config.provider or "")
    if not known or not config.model:
        return None
    speaks_chat_alone = config.own_model_server and config.provider in {"openai", "xai"}
    return (own_server if speaks_chat_alone else known[0], config.model)
