"""An engine cache where `pi` is tests/doubles/pi.js: real processes under a real bridge, without a registry."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from agents.engines.pi import PI

SCRIPT = Path(__file__).with_name("pi.js")
KNOWN_MODEL = "model-known-to-pi"


def install_double(cache: Path) -> Path:
    target = cache / f"{PI.id}-{PI.package.version}"
    entry = target / PI.package.entry
    entry.parent.mkdir(parents=True)
    shutil.copy(SCRIPT, entry)
    catalog = target / "node_modules" / "@earendil-works" / "pi-ai" / "dist" / "providers" / "data"
    catalog.mkdir(parents=True)
    for provider in ("openai", "anthropic", "openrouter", "google", "groq", "mistral", "deepseek", "xai"):
        (catalog / f"{provider}.json").write_text(json.dumps({"protocol": {KNOWN_MODEL: {"id": KNOWN_MODEL}}}))
    shutil.copy(PI.package.recipe / "package-lock.json", target / ".installed")
    return cache
