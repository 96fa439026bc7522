"""What the catalog offers. Rules are elsewhere; here are fields, what a row must satisfy by itself, named queries."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, MinValueValidator, RegexValidator
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from catalog import cost, shapes
from catalog.fields import Lines, Paragraphs
from catalog.version import CatalogVersion, bump
from catalog.vocabulary import (
    ArticleLang,
    ArticleStatus,
    Category,
    Channel,
    CostTier,
    EngineId,
    EngineStatus,
    Lang,
    PersonaStatus,
    ProviderId,
    Risk,
    TierId,
    ToolGroup,
)
from config.ids import new_id

__all__ = ["CatalogVersion"]  # a model of this app, defined beside its rule

ID_LENGTH = 80
LABEL_LENGTH = 200
SOUL_LENGTH = 12_000
ARTICLE_LENGTH = 65_536
MONTHS_PAID_A_YEAR = 10  # annual billing: two months free
LAST = 10_000  # what is made here comes after what the data files have
MIB, GIB = 2**20, 2**30

slug_id = RegexValidator(r"\A[a-z0-9](?:-?[a-z0-9])*\Z", "must be lowercase letters, digits and single hyphens")
env_name = RegexValidator(r"\A[A-Z][A-Z0-9_]*\Z", "must look like A_NAME")
toolset_id = RegexValidator(r"\A[a-z][a-z0-9_]*\Z", "must be lowercase letters, digits and underscores")


def label(**kwargs: Any) -> models.CharField[str, str]:
    return models.CharField(max_length=LABEL_LENGTH, **kwargs)


def lines(base: models.Field[Any, Any] | None = None, **kwargs: Any) -> Lines:
    return Lines(base or label(), **{"default": list, "blank": True, **kwargs})


class CatalogQuerySet(models.QuerySet[Any]):
    def offered(self) -> Self:
        """What visitors see."""
        return self.filter(hidden=False, gone=False)


class CatalogRow(models.Model):
    """Whatever the data files can hold. Saving or deleting one changes the catalog's version."""

    hidden = models.BooleanField(default=False, help_text="Taken off the public catalog by an operator.")
    gone = models.BooleanField(default=False, editable=False, help_text="The data files no longer have it.")
    # A digest of each column as the last load wrote it; empty for what was made here.
    loaded = models.JSONField(default=dict, editable=False)
    position = models.PositiveIntegerField(default=LAST, help_text="Order in lists, smallest first.")

    objects: ClassVar[CatalogQuerySet] = CatalogQuerySet.as_manager()  # type: ignore[assignment]  # as_manager hides the type

    class Meta:
        abstract = True

    @transaction.atomic
    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)
        bump()

    @transaction.atomic
    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        deleted = super().delete(*args, **kwargs)
        bump()
        return deleted

    @property
    def offered(self) -> bool:
        return not (self.hidden or self.gone)

    @classmethod
    def noun(cls) -> str:
        return str(cls._meta.verbose_name)

    @classmethod
    def column_names(cls) -> list[str]:
        return [column.attname for column in cls._meta.concrete_fields]


class Tier(CatalogRow):
    """A plan: what a pod gets and what it costs (spec: Tier)."""

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
        """0 for the smallest; a larger tier has a larger rank."""
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
        """The resources for people, e.g. `1 GiB RAM, 5 GiB disk, 0.5 CPU`."""
        memory = f"{self.memory_mib // 1024} GiB" if self.memory_mib % 1024 == 0 else f"{self.memory_mib} MiB"
        return f"{memory} RAM, {self.disk_gib} GiB disk, {self.cpu.normalize():f} CPU"

    @property
    def price(self) -> str:
        """The monthly price for people, e.g. `$5/month`."""
        usd = self.monthly_usd
        return f"${usd:.0f}/month" if usd == usd.to_integral_value() else f"${usd:.2f}/month"


class Engine(CatalogRow):
    """A program that runs an agent, and what it can do (spec: Engine, EngineCapabilities)."""

    id = models.CharField(primary_key=True, max_length=20, choices=EngineId.choices)
    label = label()
    description = Paragraphs()
    requires_domain = models.BooleanField(default=False)
    min_tier = models.CharField(max_length=20, choices=TierId.choices)
    status = models.CharField(max_length=10, choices=EngineStatus.choices)
    skills = models.BooleanField()
    mcp = models.BooleanField()
    skill_registry = models.BooleanField(help_text="Can search a skill registry itself.")
    skill_uninstall = models.BooleanField()
    llm_key = models.BooleanField(help_text="Takes a model key.")
    model = models.BooleanField(help_text="Takes a model.")
    sso = models.BooleanField()
    dash_credentials = models.BooleanField()
    llm_providers = lines(
        models.CharField(max_length=20, choices=ProviderId.choices),
        null=True,
        default=None,
        help_text="Providers it accepts; empty means every one. Without a model key it accepts none.",
    )
    channels = lines(models.CharField(max_length=20, choices=Channel.choices), help_text="Channels it can connect.")
    toolsets = lines(
        models.CharField(max_length=40),
        null=True,
        default=None,
        help_text="Toolsets it supports, by id. Empty means all.",
    )

    class Meta:
        ordering: ClassVar = ["position", "id"]

    def __str__(self) -> str:
        return self.label

    @property
    def accepted_providers(self) -> list[str] | None:
        """The providers whose keys it takes; None means every offered one (spec: `llmProviders`)."""
        providers: list[str] | None = self.llm_providers
        return providers if self.llm_key else []


class LlmProvider(CatalogRow):
    """A vendor of models (spec: LlmProviderInfo)."""

    id = models.CharField(primary_key=True, max_length=20, choices=ProviderId.choices)
    label = label()
    env_var = models.CharField(max_length=80, validators=[env_name])

    class Meta:
        ordering: ClassVar = ["position", "id"]
        verbose_name = "LLM provider"

    def __str__(self) -> str:
        return self.label


class LlmModel(CatalogRow):
    """A model of a provider (spec: ModelInfo). Its cost class follows from its prices."""

    id = models.CharField(primary_key=True, max_length=LABEL_LENGTH, help_text="<provider>:<model name>")
    provider = models.CharField(max_length=20, choices=ProviderId.choices)
    label = label()
    input_usd = models.DecimalField(max_digits=9, decimal_places=4, help_text="USD per 1M input tokens.")
    output_usd = models.DecimalField(max_digits=9, decimal_places=4, help_text="USD per 1M output tokens.")
    source = models.CharField(max_length=LABEL_LENGTH, help_text="Where the prices were found.")
    checked_at = models.DateField(help_text="When they were found there.")

    class Meta:
        ordering: ClassVar = ["position", "id"]
        verbose_name = "LLM model"

    def __str__(self) -> str:
        return self.id

    @property
    def name(self) -> str:
        """The id after its first colon: names hold colons themselves."""
        return self.id.partition(":")[2]

    @property
    def cost_tier(self) -> CostTier:
        return cost.cost_tier(self.input_usd, self.output_usd)

    def clean(self) -> None:
        if self.id.partition(":")[0] != self.provider or not self.name:
            raise ValidationError({"provider": f"the id must be {self.provider}:<model name>"})


class Toolset(CatalogRow):
    """A group of tools that an owner switches on (spec: ToolsetInfo)."""

    id = models.CharField(primary_key=True, max_length=40, validators=[toolset_id])
    name = label()
    description = Paragraphs()
    default_enabled = models.BooleanField(default=False, help_text="In the safe minimal set.")
    group = models.CharField(max_length=20, choices=ToolGroup.choices)
    plugin = models.CharField(max_length=80, null=True, blank=True, help_text="Only for plugins of the engine.")

    class Meta:
        ordering: ClassVar = ["position", "id"]

    def __str__(self) -> str:
        return self.name


class PersonaQuerySet(CatalogQuerySet):
    def public(self) -> Self:
        return self.offered().exclude(status=PersonaStatus.DRAFT)


class PersonaText(CatalogRow):
    """What a visitor reads of a persona, in one language."""

    name = label()
    tagline = label()
    for_who = Paragraphs()
    does = lines()
    does_examples = models.JSONField(null=True, blank=True, help_text="One example question per label of `does`.")
    disclaimer = Paragraphs(null=True, blank=True)
    demo = models.JSONField(null=True, blank=True, help_text='A conversation: [{"role": "user" or "agent", "text": …}]')

    class Meta:
        abstract = True

    def clean(self) -> None:
        shapes.check_does_examples(self.does_examples, self.does)
        shapes.check_demo(self.demo)

    @property
    def examples(self) -> dict[str, str] | None:
        """The example questions in the order of `does`, which the database does not keep."""
        return None if self.does_examples is None else {label: self.does_examples[label] for label in self.does}


class Persona(PersonaText):
    """A character to make agents from (spec: Persona). Its price and spec are those of its tier."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, validators=[slug_id])
    icon = models.CharField(max_length=16)
    skills = lines()
    channels = lines(models.CharField(max_length=20, choices=Channel.choices))
    category = models.CharField(max_length=20, choices=Category.choices)
    tags = lines(models.CharField(max_length=40))
    tier = models.CharField(max_length=20, choices=TierId.choices)
    risk = models.CharField(max_length=8, choices=Risk.choices, default=Risk.LOW)
    soul = Paragraphs(validators=[MaxLengthValidator(SOUL_LENGTH)])
    recommended_models = lines(help_text="Model ids, the best first.")
    status = models.CharField(max_length=10, choices=PersonaStatus.choices, default=PersonaStatus.DRAFT)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="personas"
    )
    author = label(help_text="Display name.")
    deployed_count = models.PositiveIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    published_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects: ClassVar[PersonaQuerySet] = PersonaQuerySet.as_manager()  # type: ignore[assignment]  # as_manager hides the type

    class Meta:
        ordering: ClassVar = ["position", "id"]
        indexes: ClassVar = [
            # An author's own personas.
            models.Index(fields=["owner", "-created_at"], name="persona_author", condition=Q(owner__isnull=False)),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                name="persona_builtin_has_no_owner",
                condition=Q(status=PersonaStatus.BUILTIN, owner__isnull=True)
                | (~Q(status=PersonaStatus.BUILTIN) & Q(owner__isnull=False)),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        super().clean()
        if self.risk == Risk.HIGH and not self.disclaimer:
            raise ValidationError({"disclaimer": "is required when the risk is high"})
        if (self.status == PersonaStatus.BUILTIN) != (self.owner_id is None):
            raise ValidationError({"status": "a built-in persona has no owner, a community persona has one"})

    @property
    def public(self) -> bool:
        return self.offered and self.status != PersonaStatus.DRAFT

    @property
    def texts(self) -> dict[str, PersonaL10n]:
        """The localizations by language."""
        return {text.lang: text for text in self.localizations.all()}


class PersonaL10n(PersonaText):
    """A persona's texts in another language (spec: PersonaL10n)."""

    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="localizations")
    lang = models.CharField(max_length=3, choices=Lang.choices)

    class Meta:
        ordering: ClassVar = ["persona", "lang"]
        verbose_name = "localization"
        constraints: ClassVar = [models.UniqueConstraint(fields=["persona", "lang"], name="persona_l10n_once")]

    def __str__(self) -> str:
        return f"{self.persona_id} ({self.lang})"


class Article(models.Model):
    """A page that an author wrote about a persona; the body is Markdown."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "art"), editable=False)
    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="articles")
    slug = models.CharField(max_length=ID_LENGTH, validators=[slug_id])
    title = label()
    summary = Paragraphs(blank=True)
    lang = models.CharField(max_length=3, choices=ArticleLang.choices, default=ArticleLang.EN)
    status = models.CharField(max_length=10, choices=ArticleStatus.choices, default=ArticleStatus.DRAFT)
    body = Paragraphs(validators=[MaxLengthValidator(ARTICLE_LENGTH)])
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["persona", "slug"], name="article_slug_once")]

    def __str__(self) -> str:
        return self.title

    @transaction.atomic
    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)
        bump()

    @transaction.atomic
    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        deleted = super().delete(*args, **kwargs)
        bump()
        return deleted
