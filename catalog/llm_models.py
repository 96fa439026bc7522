"""Models: which are offered, and which a pod uses when its owner has chosen none."""

from __future__ import annotations

from catalog import llm_providers, snapshot
from catalog.models import LlmModel
from catalog.vocabulary import CostTier, ProviderId
from config.errors import BadRequest

# One vendor with two ids. Both ids have the same models.
ALIASES = {ProviderId.GOOGLE.value: ProviderId.GEMINI.value, ProviderId.GEMINI.value: ProviderId.GOOGLE.value}


class UnknownModel(BadRequest):
    def __init__(self, model_id: str, field: str) -> None:
        super().__init__(
            f"{field}: {model_id!r} is not in the catalog; GET /models lists the ids, <provider>:<model name>"
        )


class NoModel(BadRequest):
    def __init__(self, provider: str) -> None:
        super().__init__(f"llmProvider: the catalog has no model of {provider}; GET /models lists them")


def offered(provider: str | None = None) -> list[LlmModel]:
    """The models of one provider, or of all, that an engine can use."""
    vendors = {vendor.id for vendor in llm_providers.offered()}
    models = snapshot.offered(snapshot.current().llm_models).values()
    return [model for model in models if model.provider in vendors and provider in {None, model.provider}]


def known_model(model_id: str, field: str = "model") -> LlmModel:
    """The offered model of this id. Raises UnknownModel."""
    model = snapshot.current().llm_models.get(model_id)
    if model is None or model not in offered(model.provider):
        raise UnknownModel(model_id, field)
    return model


def default_model(provider: str, recommended: list[str]) -> str:
    """The model id for an owner who has chosen none. Raises NoModel if the catalog has no model of the provider.

    The provider's first recommended model, else its first `mid` model, else its first model. Hidden models count only
    if the provider has no others.
    """
    models = [model for model in snapshot.current().llm_models.values() if model.provider == provider]
    models = [model for model in models if model.offered] or models
    if not models:
        raise NoModel(provider)
    ids = {model.id for model in models}
    wanted = [mirrored for model_id in recommended if (mirrored := _under(provider, model_id)) in ids]
    middle = [model.id for model in models if model.cost_tier == CostTier.MID]
    return (wanted or middle or [models[0].id])[0]


def _under(provider: str, model_id: str) -> str:
    """The model's id under this provider, if both provider ids are the same vendor; else unchanged."""
    vendor, _, name = model_id.partition(":")
    return f"{provider}:{name}" if ALIASES.get(vendor) == provider else model_id
