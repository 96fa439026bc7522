"""The text that turns an engine into this agent: the persona's system prompt (SOUL), the owner's additions, and facts
about the owner.
"""

from __future__ import annotations

from agents.runtimes.base import PodConfig

_LANGUAGE = {
    "en": "Speak English, unless the person you talk to uses another language.",
    "ru": "Говори по-русски (speak Russian), если собеседник не пишет на другом языке.",
}


def persona_text(config: PodConfig) -> str:
    notes = [
        f"Your name is {config.name}.",
        _LANGUAGE[config.lang],
        f"Your owner's time zone is {config.timezone or 'UTC'}; dates and times without a zone are meant there.",
    ]
    parts = [config.soul, config.extra_soul or "", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"
