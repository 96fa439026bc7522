"""The bodies of the catalog's endpoints. An optional field (`required=False`) without a value is left out, not null."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from catalog import tiers, tools
from catalog.models import Persona, Toolset
from catalog.vocabulary import (
    ENGINE_CHOICES,
    ArticleLang,
    ArticleStatus,
    Category,
    Channel,
    CostTier,
    EngineStatus,
    PersonaStatus,
    ProviderId,
    Risk,
    TierId,
    ToolGroup,
    ToolService,
)
from config.api import Serializer


class Sparse(Serializer):
    """Leaves out optional fields that have no value."""

    def to_representation(self, instance: Any) -> dict[str, Any]:
        body: dict[str, Any] = super().to_representation(instance)
        return {name: value for name, value in body.items() if value is not None or self.fields[name].required}


class Usd(serializers.FloatField):
    """A price as a JSON number: 5, or 5.5."""

    def to_representation(self, value: Decimal) -> Any:  # type: ignore[override]  # a column of money is no float
        return int(value) if value == value.to_integral_value() else float(value)


def _texts() -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField())


class TierSerializer(Serializer):
    id = serializers.ChoiceField(TierId.choices)
    name = serializers.CharField()
    spec = serializers.CharField(help_text="The resources, for people.")
    monthly_usd = Usd()
    annual_usd = Usd(help_text="Two months free versus monthly.")


class TrialSerializer(Serializer):
    days = serializers.IntegerField(help_text="Free days of a new agent, from its `createdAt`.")
    grace_days = serializers.IntegerField(help_text="Days that a pod runs on after its payment stopped verifying.")
    kept_days = serializers.IntegerField(help_text="Days from an unpaid pod's stop to its deletion.")
    notice_days = serializers.ListField(
        child=serializers.IntegerField(), help_text="Days before the stop with a reminder."
    )
    max_free_agents = serializers.IntegerField(help_text="Unpaid agents an account may have.")


class TiersSerializer(Serializer):
    tiers = TierSerializer(many=True)
    trial = TrialSerializer()


class EngineCapabilitiesSerializer(Sparse):
    skills = serializers.BooleanField()
    mcp = serializers.BooleanField()
    skill_registry = serializers.BooleanField(help_text="It can search a skill registry itself.")
    skill_uninstall = serializers.BooleanField()
    llm_key = serializers.BooleanField()
    model = serializers.BooleanField()
    sso = serializers.BooleanField()
    dash_credentials = serializers.BooleanField()
    llm_providers = serializers.ListField(
        child=serializers.ChoiceField(ProviderId.choices),
        source="accepted_providers",
        required=False,
        help_text="The providers it accepts; left out when it accepts every one.",
    )


class EngineSerializer(Serializer):
    id = serializers.ChoiceField(ENGINE_CHOICES)
    label = serializers.CharField()  # type: ignore[assignment]  # the spec's name is an attribute of Field too
    description = serializers.CharField()
    requires_domain = serializers.BooleanField()
    min_tier = serializers.ChoiceField(TierId.choices, help_text="The lowest tier allowed.")
    status = serializers.ChoiceField(EngineStatus.choices)
    capabilities = EngineCapabilitiesSerializer(source="*")


class EnginesSerializer(Serializer):
    engines = EngineSerializer(many=True)


class ModelInfoSerializer(Serializer):
    id = serializers.CharField(help_text="`<provider>:<model name>`, split at the first colon.")
    provider = serializers.ChoiceField(ProviderId.choices)
    name = serializers.CharField(help_text="The vendor's own name.")
    label = serializers.CharField()  # type: ignore[assignment]  # the spec's name is an attribute of Field too
    cost_tier = serializers.ChoiceField(CostTier.choices)


class ModelsSerializer(Serializer):
    models = ModelInfoSerializer(many=True)


class LlmProviderInfoSerializer(Serializer):
    id = serializers.ChoiceField(ProviderId.choices)
    label = serializers.CharField()  # type: ignore[assignment]  # the spec's name is an attribute of Field too
    env_var = serializers.CharField()


class LlmProvidersSerializer(Serializer):
    llm_providers = LlmProviderInfoSerializer(many=True)


class ToolsetInfoSerializer(Sparse):
    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    default_enabled = serializers.SerializerMethodField(
        help_text="On where `tools.enabled` is empty: on the default engine, pi, or on the one that `engine` names."
    )
    group = serializers.ChoiceField(ToolGroup.choices)
    plugin = serializers.CharField(required=False, help_text="Only for plugins.")
    engines = serializers.SerializerMethodField(help_text="The engines that take it.")
    service = serializers.ChoiceField(
        ToolService.choices,
        required=False,
        help_text="Whose key it needs, on the engines of `keyNeededOn`: it goes into `tools.secrets` under this name.",
    )
    key_needed_on = serializers.SerializerMethodField(help_text="The engines that need a key of `service` for it.")

    def get_default_enabled(self, toolset: Toolset) -> bool:
        return tools.is_default(toolset, self.context.get("engine"))

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(ENGINE_CHOICES)))
    def get_engines(self, toolset: Toolset) -> list[str]:
        return tools.engines_of(toolset)

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(ENGINE_CHOICES)))
    def get_key_needed_on(self, toolset: Toolset) -> list[str]:
        return tools.engines_that_need_a_key(toolset)


class ToolsSerializer(Serializer):
    tools = ToolsetInfoSerializer(many=True)


class DemoLineSerializer(Serializer):
    role = serializers.ChoiceField(["user", "agent"])
    text = serializers.CharField()


class PersonaL10nSerializer(Sparse):
    name = serializers.CharField()
    tagline = serializers.CharField()
    for_who = serializers.CharField()
    does = _texts()
    does_examples = serializers.DictField(child=serializers.CharField(), source="examples", required=False)
    disclaimer = serializers.CharField(required=False, allow_null=True)
    demo = DemoLineSerializer(many=True, required=False)


class PersonaSerializer(Sparse):
    id = serializers.CharField()
    icon = serializers.CharField()
    name = serializers.CharField()
    tagline = serializers.CharField()
    for_who = serializers.CharField()
    does = _texts()
    does_examples = serializers.DictField(
        child=serializers.CharField(),
        source="examples",
        required=False,
        help_text="One example question per label of `does`.",
    )
    skills = _texts()
    channels = serializers.ListField(child=serializers.ChoiceField(Channel.choices))
    category = serializers.ChoiceField(Category.choices, source="shown_category")
    tags = _texts()
    tier = serializers.ChoiceField(TierId.choices, source="shown_tier", help_text="The recommended minimum plan.")
    spec = serializers.SerializerMethodField(help_text="The resources of that plan, for people.")
    price = serializers.SerializerMethodField(help_text="The price of that plan, for people.")
    risk = serializers.ChoiceField(Risk.choices)
    disclaimer = serializers.CharField(allow_null=True)
    demo = DemoLineSerializer(many=True, required=False)
    ru = PersonaL10nSerializer(source="texts.ru", required=False)
    es = PersonaL10nSerializer(source="texts.es", required=False)
    pt = PersonaL10nSerializer(source="texts.pt", required=False)
    tr = PersonaL10nSerializer(source="texts.tr", required=False)
    ind = PersonaL10nSerializer(source="texts.ind", required=False)
    author_id = serializers.CharField(source="owner_id", required=False, help_text="Community personas only.")
    author = serializers.CharField()
    status = serializers.ChoiceField(PersonaStatus.choices)
    soul = serializers.CharField(help_text="The system prompt.")
    deployed_count = serializers.IntegerField()
    recommended_models = serializers.ListField(child=serializers.CharField(), help_text="Model ids, the best first.")

    def get_spec(self, persona: Persona) -> str:
        return tiers.tier_of(persona.shown_tier).spec

    def get_price(self, persona: Persona) -> str:
        return tiers.tier_of(persona.shown_tier).price


class PersonasSerializer(Serializer):
    personas = PersonaSerializer(many=True)


class ArticleInfoSerializer(Serializer):
    id = serializers.CharField()
    persona_id = serializers.CharField()
    slug = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField()
    lang = serializers.ChoiceField(ArticleLang.choices)
    status = serializers.ChoiceField(ArticleStatus.choices)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class PersonaPageSerializer(Serializer):
    persona = PersonaSerializer()
    articles = ArticleInfoSerializer(many=True, help_text="Published articles, without their bodies.")


class NoSuchPersonaSerializer(Serializer):
    """The one error body without a message (spec: Errors)."""

    error = serializers.ChoiceField(["NOT_FOUND"])
