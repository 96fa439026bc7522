"""Personas, their localizations and their articles."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any, ClassVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.safestring import SafeString

from catalog import markdown, shapes
from catalog.fields import Paragraphs
from catalog.models.authors import in_queue
from catalog.models.rows import CatalogRow, Versioned, label, lines, slug_id
from catalog.vocabulary import ArticleLang, ArticleStatus, Category, Channel, Lang, PersonaStatus, Risk, TierId
from config.ids import new_id

ID_LENGTH = 80
SOUL_LENGTH = 12_000
ARTICLE_LENGTH = 65_536


def count_due() -> Q:
    """Personas whose shown count of deployments is out of date."""
    return ~Q(deployments=F("deployed_count"))


class PersonaText(CatalogRow):
    """The texts of a persona that visitors read, in one language."""

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
        """The example questions in the order of `does`: the database does not keep the order.

        A draft may have other labels.
        """
        examples = self.does_examples
        return examples and {label: examples[label] for label in [*self.does, *examples] if label in examples}


class Persona(PersonaText):
    """A character from which agents are made (docs/spec.md: Persona (public catalog entry)).

    Its price and resources are those of its tier.
    """

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
    deployments = models.PositiveIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text="Number of agents made from it that have started. It is updated at once.",
    )
    deployed_count = models.PositiveIntegerField(
        default=0, editable=False, help_text="The number that is shown. It is updated once a minute."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, db_default=Now(), editable=False)
    published_at = models.DateTimeField(null=True, blank=True, editable=False)
    reviewed_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When an operator approved the published version."
    )

    class Meta:
        ordering: ClassVar = ["position", "id"]
        indexes: ClassVar = [
            # The moderators' queue, oldest first.
            models.Index(fields=["published_at"], name="persona_queue", condition=in_queue()),
            models.Index(fields=["id"], name="persona_count_due", condition=count_due()),
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
    def shown_category(self) -> str:
        """The category, or `life` for a draft whose author has not chosen one yet: every persona shows a category."""
        return self.category or Category.LIFE.value

    @property
    def shown_tier(self) -> str:
        """The tier, or `tiny` for a draft whose author has not chosen one yet."""
        return self.tier or TierId.TINY.value

    @property
    def texts(self) -> dict[str, PersonaL10n]:
        return {text.lang: text for text in self.localizations.all()}

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages of the localizations.

        Cached on the personas of the snapshot, because every search needs them.
        """
        return frozenset(text.lang for text in self.localizations.all())


class PersonaL10n(PersonaText):
    """A persona's texts in another language (docs/spec.md: Persona (public catalog entry))."""

    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="localizations")
    lang = models.CharField(max_length=3, choices=Lang.choices)

    class Meta:
        ordering: ClassVar = ["persona", "lang"]
        verbose_name = "localization"
        constraints: ClassVar = [models.UniqueConstraint(fields=["persona", "lang"], name="persona_l10n_once")]

    def __str__(self) -> str:
        return f"{self.persona_id} ({self.lang})"

    @transaction.atomic
    def save(self, *args: Any, **kwargs: Any) -> None:
        """Lock the persona, then save.

        All code that writes both locks the persona first, because the search triggers lock it second.
        """
        Persona.objects.select_for_update(no_key=True).filter(pk=self.persona_id).values("pk").first()
        super().save(*args, **kwargs)


class Article(Versioned):
    """A Markdown page that an author wrote about a persona."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "art"), editable=False)
    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="articles")
    slug = models.CharField(max_length=ID_LENGTH, validators=[slug_id])
    title = label()
    summary = Paragraphs(blank=True)
    lang = models.CharField(max_length=3, choices=ArticleLang.choices, default=ArticleLang.EN)
    status = models.CharField(max_length=10, choices=ArticleStatus.choices, default=ArticleStatus.DRAFT)
    body = Paragraphs(validators=[MaxLengthValidator(ARTICLE_LENGTH)])
    html = models.TextField(
        default="", db_default="", editable=False, help_text="The HTML of the body. Empty: not made yet."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["persona", "slug"], name="article_slug_once")]

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        if len(self.body) <= ARTICLE_LENGTH and (problem := markdown.rendering(self.body).problem):
            raise ValidationError({"body": problem})

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        """Save, with new HTML whenever the body is saved."""
        if update_fields is None or "body" in update_fields:
            self.html = markdown.to_html(self.body)
            update_fields = update_fields and {*update_fields, "html"}
        super().save(*args, update_fields=update_fields, **kwargs)

    @property
    def shown(self) -> SafeString:
        """The body as visitors see it. Rendered now only for old articles that have no stored HTML."""
        return SafeString(self.html) if self.html else markdown.to_html(self.body)
