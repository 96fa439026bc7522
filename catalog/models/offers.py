"""What an agent consists of besides its persona: tier, engine, provider, model, toolsets."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models

from catalog import cost
from catalog.fields import Paragraphs
from catalog.models.rows import LABEL_LENGTH, CatalogRow, env_name, label, lines, toolset_id
from catalog.vocabulary import (
    ENGINE_IDS,
    RUNNABLE,
    Channel,
    CostTier,
    EngineStatus,
    ProviderId,
    TierId,
    ToolGroup,
    ToolService,
)

MONTHS_PAID_A_YEAR = 10  # annual billing: two months free
MIB, GIB = 2**20, 2**30
PRICE_PLACES = 4


class Tier(CatalogRow):
    """A plan: the resources of a pod and its price (docs/spec.md: Tier)."""

    id = models.CharField(primary_key=True, max_length=20, choices=TierId.choices)
    name = label()
    memory_mib = models.PositiveIntegerField(validators=[MinValueValidator(64)])
    disk_gib = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    cpu = models.DecimalField(max_digits=5, decimal_places=2, validators=[MinValueValidator(Decimal("0.05"))])
    monthly_usd = models.DecimalField(max_digits=8, decimal_places=2, validators=[MinValueValidator(Decimal(0))])

    class Meta:
        ordering: ClassVar = ["position", "id"]

    def __str__(self) -> str:
        return self.name

    @property
    def rank(self) -> int:
        """0 for the smallest tier; a larger tier has a larger rank."""
        return TierId.values.index(self.id)

    @property
    def memory_bytes(self) -> int:
        return self.memory_mib * MIB

    @property
    def disk_bytes(self) -> int:
        return self.disk_gib * GIB

    @property
    def annual_usd(self) -> Decimal:
        return self.monthly_usd * MONTHS_PAID_A_YEAR

    @property
    def spec(self) -> str:
        """The resources as text for people, e.g. `1 GiB RAM, 5 GiB disk, 0.5 CPU`."""
        memory = f"{self.memory_mib // 1024} GiB" if self.memory_mib % 1024 == 0 else f"{self.memory_mib} MiB"
        return f"{memory} RAM, {self.disk_gib} GiB disk, {self.cpu.normalize():f} CPU"

    @property
    def price(self) -> str:
        """The monthly price as text for people, e.g. `$5/month`."""
        usd = self.monthly_usd
        return f"${usd:.0f}/month" if usd == usd.to_integral_value() else f"${usd:.2f}/month"


def known_engine_id(text: str) -> None:
    """Check an engine id. Not fixed choices, because an installation may have engines of third parties."""
    if text not in ENGINE_IDS:
        raise ValidationError(f"Must be one of {', '.join(ENGINE_IDS)}.")


class Engine(CatalogRow):
    """A program that runs an agent, and its capabilities (docs/spec.md: Engine)."""

    id = models.CharField(primary_key=True, max_length=20, validators=[known_engine_id])
    label = label()
    description = Paragraphs()
    requires_domain = models.BooleanField(default=False)
    min_tier = models.CharField(max_length=20, choices=TierId.choices)
    status = models.CharField(max_length=10, choices=EngineStatus.choices)
    skills = models.BooleanField()
    mcp = models.BooleanField()
    skill_registry = models.BooleanField(help_text="Can search a skill registry itself.")
    skill_uninstall = models.BooleanField()
    llm_key = models.BooleanField(help_text="Can use a model key.")
    model = models.BooleanField(help_text="The model can be chosen.")
    sso = models.BooleanField()
    dash_credentials = models.BooleanField()
    llm_providers = lines(
        models.CharField(max_length=20, choices=ProviderId.choices),
        null=True,
        default=None,
        help_text="Providers it accepts; empty means every one. Without a model key it accepts none.",
    )
    channels = lines(
        models.CharField(max_length=20, choices=Channel.choices), help_text="Channels that it can connect."
    )
    toolsets = lines(
        models.CharField(max_length=40),
        null=True,
        default=None,
        help_text="Toolsets it supports, by id. Empty means all.",
    )
    keyed_toolsets = lines(
        models.CharField(max_length=40),
        null=True,
        default=None,
        help_text="The toolsets for which it needs the owner's key for the toolset's service.",
    )

    class Meta:
        ordering: ClassVar = ["position", "id"]

    def __str__(self) -> str:
        return self.label

    @property
    def offered(self) -> bool:
        return super().offered and self.id in RUNNABLE

    @property
    def accepted_providers(self) -> list[str] | None:
        """The providers whose keys the engine accepts; None means every offered provider."""
        providers: list[str] | None = self.llm_providers
        return providers if self.llm_key else []


class LlmProvider(CatalogRow):
    """A vendor of models (docs/spec.md: LlmProviderInfo)."""

    id = models.CharField(primary_key=True, max_length=20, choices=ProviderId.choices)
    label = label()
    env_var = models.CharField(max_length=80, validators=[env_name])

    class Meta:
        ordering: ClassVar = ["position", "id"]
        verbose_name = "LLM provider"

    def __str__(self) -> str:
        return self.label


class LlmModel(CatalogRow):
    """A model of a provider (docs/spec.md: ModelInfo). Its cost class follows from its prices."""

    PRICES = ("input_usd", "output_usd", "source", "checked_at")  # columns that are looked up together

    id = models.CharField(primary_key=True, max_length=LABEL_LENGTH, help_text="<provider>:<model name>")
    provider = models.CharField(max_length=20, choices=ProviderId.choices)
    label = label()
    input_usd = models.DecimalField(max_digits=9, decimal_places=PRICE_PLACES, help_text="USD per 1M input tokens.")
    output_usd = models.DecimalField(max_digits=9, decimal_places=PRICE_PLACES, help_text="USD per 1M output tokens.")
    source = models.CharField(max_length=LABEL_LENGTH, help_text="Where the prices were found.")
    checked_at = models.DateField(help_text="When they were found there.")
    pinned = models.BooleanField(
        default=False, db_default=False, help_text="A refresh never removes it from the catalog."
    )
    outdated = models.BooleanField(
        default=False, db_default=False, editable=False, help_text="The last refresh did not choose it any more."
    )
    refreshed_at = models.DateTimeField(null=True, editable=False, help_text="When a refresh last found its prices.")

    class Meta:
        ordering: ClassVar = ["position", "id"]
        verbose_name = "LLM model"

    def __str__(self) -> str:
        return self.id

    @property
    def name(self) -> str:
        """The id after its first colon. The name itself may contain colons."""
        return self.id.partition(":")[2]

    @property
    def offered(self) -> bool:
        return super().offered and not self.outdated

    @property
    def cost_tier(self) -> CostTier:
        return cost.cost_tier(self.input_usd, self.output_usd)

    def clean(self) -> None:
        if self.id.partition(":")[0] != self.provider or not self.name:
            raise ValidationError({"provider": f"the id must be {self.provider}:<model name>"})


class Toolset(CatalogRow):
    """A group of tools that an owner can switch on (docs/spec.md: ToolsetInfo)."""

    id = models.CharField(primary_key=True, max_length=40, validators=[toolset_id])
    name = label()
    description = Paragraphs()
    default_enabled = models.BooleanField(default=False, help_text="It is in the safe minimal set.")
    group = models.CharField(max_length=20, choices=ToolGroup.choices)
    plugin = models.CharField(max_length=80, null=True, blank=True, help_text="Only for plugins of the engine.")
    service = models.CharField(
        max_length=20,
        choices=ToolService.choices,
        null=True,
        blank=True,
        help_text="The service whose key it needs, on engines that cannot do it by themselves.",
    )

    class Meta:
        ordering: ClassVar = ["position", "id"]

    def __str__(self) -> str:
        return self.name
