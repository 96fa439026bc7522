"""/account/agents/{id}/model-key: the model and its key."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponseBase
from rest_framework.request import Request

from agents.configuring import llm_key
from agents.models import Agent
from catalog import llm_models, llm_providers
from catalog.engines import engine_of
from config.errors import ServiceError
from pages.account.agents import agent_refusals, model_providers
from pages.account.agents.base import AgentPagePage


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of one provider: a group in the list."""

    provider: str
    models: list[tuple[str, str]]


class ModelKeyPage(AgentPagePage):
    """The key for the agent's model provider, and the choice of the model."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self._asking(self.own_agent(id))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Save them. An empty key keeps the present key; then only the model changes."""
        agent = self.own_agent(id)
        key, model = self.typed("key").strip(), self.typed("model") or None
        try:
            if key:
                llm_key.change(agent, provider=self.typed("provider"), key=key, model=model)
            elif agent.llm_key_hash:
                llm_key.choose_model(agent, model=model)
        except ServiceError as refusal:
            text = agent_refusals.text(refusal, engine_of(agent.engine))
            return self._asking(agent, problem=text, status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}")

    def _asking(self, agent: Agent, *, problem: str = "", status: int = 200) -> HttpResponseBase:
        engine = engine_of(agent.engine)
        context = {
            "agent": agent,
            "engine": engine,
            "providers": llm_providers.offered(engine),
            "chosen": self.typed("provider") or agent.llm_provider,
            "keys_at": model_providers.keys_at(engine),
            "model": self.typed("model") or agent.model,
            "models": _models(agent) if engine.model else [],
            "has_key": bool(agent.llm_key_hash),
            "problem": problem,
        }
        return self.page("model_key.html", context, status=status)


def _models(agent: Agent) -> list[Models]:
    offered = llm_models.offered()
    return [
        Models(
            provider=provider.label,
            models=[(model.pk, model.label) for model in offered if model.provider == provider.pk],
        )
        for provider in llm_providers.offered(engine_of(agent.engine))
    ]
