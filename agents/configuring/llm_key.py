"""The model key of an agent: its provider, its model, the key itself, and when each of them is refused."""

from __future__ import annotations

import re
from typing import Any

from django.db import transaction

from agents.configuring import configuration, vendors
from agents.models import Agent
from catalog import llm_models, llm_providers
from catalog.engines import engine_of
from catalog.models import Engine
from config import dry_run, waiting
from config.crypto import sha256
from config.errors import BadRequest

MAX_KEY_CHARACTERS = 512
_KEY = re.compile(r"[\x21-\x7e]+")


def check(engine: Engine, *, provider: str, key: str, model: str | None, field: str = "provider") -> None:
    """Raise BadRequest naming the field when engine, provider, form of the key and model do not fit together."""
    if not engine.llm_key:
        raise BadRequest(f"{field}: {engine.label} takes no model key")
    llm_providers.check_engine(llm_providers.known_provider(provider, field=field), engine=engine, field=field)
    if model is not None:
        check_model(engine, provider=provider, model=model)
    check_key(key, field="key" if field == "provider" else "llmKey")


def check_key(key: str, *, field: str) -> None:
    """Raise BadRequest when the text cannot be a key."""
    if not _KEY.fullmatch(key) or len(key) > MAX_KEY_CHARACTERS:
        raise BadRequest(f"{field}: must be 1 to {MAX_KEY_CHARACTERS} visible ASCII characters without spaces")


def check_model(engine: Engine, *, provider: str | None, model: str) -> None:
    """Raise BadRequest when the model is unknown or another provider's, or when the engine does not let a model be
    chosen."""
    known = llm_models.known_model(model)
    if not engine.model:
        raise BadRequest(f"model: {engine.label} does not let a model be chosen")
    if provider is not None and known.provider != provider:
        raise BadRequest(
            f"model: {model!r} belongs to {known.provider}, the key to {provider}; GET /models?provider={provider}"
        )
    llm_providers.check_engine(
        llm_providers.known_provider(known.provider, field="model"), engine=engine, field="model"
    )


def change(agent: Agent, **given: Any) -> Agent:
    """Install a key (`provider` and `key`, optionally `model`) or change only the model (`model` alone)."""
    if "provider" in given or "key" in given:
        for name in ("provider", "key"):
            if name not in given:
                raise BadRequest(f"{name}: needed to install a key; give model alone to change only the model")
        return install(agent, **given)
    if "model" not in given:
        raise BadRequest("provider: give provider and key, or model alone")
    return choose_model(agent, model=given["model"])


def install(agent: Agent, *, provider: str, key: str, **named: str | None) -> Agent:
    """Install or replace the key. Without `model` the present model stays if it belongs to the provider.

    Asks the provider once whether the key is good, before the transaction. Only a clear refusal is an error.
    """
    check(engine_of(agent.engine), provider=provider, key=key, model=named.get("model"))
    checked = False
    if not dry_run.skips("key (its provider)"):
        with waiting.looks.take(agent.user_id):
            checked = vendors.check_key(provider, key)
    with transaction.atomic():
        agent = configuration.locked(agent)
        kept = agent.model if agent.model and agent.model.startswith(f"{provider}:") else None
        put(agent, provider=provider, key=key, model=named.get("model", kept), checked=checked)
        return configuration.save(agent, fields=["llm_provider", "llm_key", "llm_key_hash", "llm_key_checked", "model"])


def put(agent: Agent, *, provider: str, key: str, model: str | None, checked: bool) -> None:
    """Set the columns of an installed key. `checked`: whether the provider accepted the key."""
    agent.llm_key_checked = checked
    agent.llm_provider, agent.llm_key, agent.llm_key_hash, agent.model = provider, key, sha256(key), model


def prove(agent: Agent) -> None:
    """Note that the model has answered with this key, so the key counts as checked."""
    if not agent.llm_key_checked:
        same = Agent.objects.filter(pk=agent.pk, llm_key_hash=agent.llm_key_hash)
        same.update(llm_key_checked=True)


@transaction.atomic
def choose_model(agent: Agent, *, model: str | None) -> Agent:
    """Change only the model. None goes back to the default of the persona or the provider."""
    agent = configuration.locked(agent)
    if model is not None:
        check_model(engine_of(agent.engine), provider=agent.llm_provider, model=model)
    agent.model = model
    return configuration.save(agent, fields=["model"])


@transaction.atomic
def remove(agent: Agent) -> Agent:
    """Forget key, provider and model; the agent then answers but says nothing."""
    agent = configuration.locked(agent)
    agent.llm_provider = agent.llm_key = agent.llm_key_hash = agent.model = None
    return configuration.save(agent, fields=["llm_provider", "llm_key", "llm_key_hash", "model"])
