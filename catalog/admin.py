"""The catalog in the admin: operators edit and hide rows, but never delete them. Every save reaches all processes."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import AdminSite
from django.contrib.admin.utils import unquote
from django.db.models import ForeignKey, JSONField, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from catalog import digests, engines, licences, moderation_admin, references, visibility
from catalog.admin_steps import DeleteArticles, HideRows
from catalog.files import HOUSE_AUTHOR
from catalog.form_fields import JsonFormField, RowFormField
from catalog.models import (
    Article,
    CatalogRow,
    CatalogVersion,
    Engine,
    LlmModel,
    LlmProvider,
    Persona,
    PersonaL10n,
    Tier,
    Toolset,
)
from catalog.moderation_steps import Ban, TakeDown, TakeDownArticle, may_moderate
from catalog.refreshing import made_here
from catalog.vocabulary import PersonaStatus
from config.admin_steps import WithSteps
from config.admin_steps.step import REASON_LENGTH, OneLine
from config.operator_settings import choosing
from config.read_only import ReadOnly

Row = TypeVar("Row", bound=CatalogRow)


class CatalogForm(forms.ModelForm[Any]):
    """Refuses a row that names ids which the catalog does not have."""

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # here Django builds and checks the instance
        if not self.errors:
            for column, problem in references.unknown(self.instance, references.in_database()).items():
                self.add_error(column, problem)


class CatalogAdmin(WithSteps, Generic[Row]):
    form = CatalogForm
    formfield_overrides: ClassVar[Any] = {
        JSONField: {"form_class": JsonFormField},
        ForeignKey: {"form_class": RowFormField},
    }
    actions: Any = ("offer",)
    list_filter: ClassVar[Any] = ("hidden", "gone")
    derived: ClassVar[tuple[str, ...]] = ()  # names of properties; a new row does not have them yet

    def __init__(self, model: type[Row], admin_site: AdminSite) -> None:
        super().__init__(model, admin_site)
        self.steps = (HideRows(model), *self.steps)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never: agents may still use what a row offers. Operators hide the row instead."""
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Row | None = None) -> Any:
        own = (*super().get_readonly_fields(request, obj), "since_load")
        return own if obj is None else ("id", *own, *self.derived)

    def save_model(self, request: HttpRequest, obj: Row, form: forms.ModelForm[Any], change: bool) -> None:
        """Save only the edited columns: a load or a count at the same time keeps its own columns."""
        if not change:
            obj.save()
        elif form.changed_data:
            columns = {column.name for column in obj._meta.concrete_fields}  # noqa: SLF001 # Django's documented API
            obj.save(update_fields=[name for name in form.changed_data if name in columns])

    @admin.display(description="offered", boolean=True)
    def is_offered(self, row: Row) -> bool:
        return row.offered

    @admin.display(description="since the last load")
    def since_load(self, row: Row) -> str:
        if not row.loaded:
            return "made here"
        return f"edited: {', '.join(edited)}" if (edited := digests.edited(row)) else "as loaded"

    @admin.action(description="Offer again", permissions=["change"])
    def offer(self, request: HttpRequest, queryset: QuerySet[Row]) -> None:
        rows = self.bounded(request, queryset)
        count = visibility.offer(self.model, [row.pk for row in rows])
        for row in rows:
            self.log_change(request, row, "Offered again.")
        self.message_user(request, f"{count} offered again.", messages.SUCCESS)


class TierForm(CatalogForm):
    reason = OneLine(
        required=False,
        max_length=REASON_LENGTH,
        widget=forms.TextInput(attrs={"size": 80}),
        help_text="Needed when the price changes. It is stored with your name.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "monthly_usd" in self.changed_data and not cleaned.get("reason"):
            self.add_error("reason", "Write why the price changes.")
        return cleaned


@admin.register(Tier)
class TierAdmin(CatalogAdmin[Tier]):
    form = TierForm
    list_display = ("id", "name", "spec", "monthly_usd", "annual_usd", "is_offered", "since_load")
    search_fields = ("id", "name")
    derived = ("spec", "annual_usd")

    def save_model(self, request: HttpRequest, obj: Tier, form: forms.ModelForm[Any], change: bool) -> None:
        """Save the tier. A change of its price is recorded with the changes of settings."""
        super().save_model(request, obj, form, change)
        if "monthly_usd" in form.changed_data:
            before = str(form.initial["monthly_usd"]) if change else None
            name, actor = f"monthly USD of {obj.pk}", f"operator:{request.user.pk}"
            why = form.cleaned_data["reason"]
            choosing.note(name, before=before, after=str(obj.monthly_usd), actor=actor, now=timezone.now(), reason=why)


@admin.register(Engine)
class EngineAdmin(CatalogAdmin[Engine]):
    list_display = ("id", "label", "status", "min_tier", "requires_domain", "mcp", "is_offered", "since_load")
    list_filter = ("status", "min_tier", "requires_domain", "mcp", *CatalogAdmin.list_filter)
    search_fields = ("id", "label", "description")
    derived = ("licence",)

    @admin.display(description="offered", boolean=True)
    def is_offered(self, row: Engine) -> bool:
        return engines.is_offered(row)

    @admin.display(description="licence")
    def licence(self, row: Engine) -> str:
        return licences.in_words(row.id) or "no restriction on hosting"


@admin.register(LlmProvider)
class LlmProviderAdmin(CatalogAdmin[LlmProvider]):
    list_display = ("id", "label", "env_var", "is_offered", "since_load")
    search_fields = ("id", "label", "env_var")


@admin.register(LlmModel)
class LlmModelAdmin(CatalogAdmin[LlmModel]):
    list_display = ("id", "label", "cost_tier", "input_usd", "output_usd", "checked_at", "is_offered", "since_load")
    list_filter = ("provider", "checked_at", "pinned", "outdated", *CatalogAdmin.list_filter)
    search_fields = ("id", "label", "source")
    readonly_fields = ("refreshed_at",)
    derived = ("cost_tier",)

    @admin.display(description="since the last load")
    def since_load(self, row: LlmModel) -> str:
        came = super().since_load(row) if row.loaded or made_here(row) else "made by a refresh"
        return f"{came}; taken off by a refresh" if row.outdated else came


@admin.register(Toolset)
class ToolsetAdmin(CatalogAdmin[Toolset]):
    list_display = ("id", "name", "group", "default_enabled", "plugin", "is_offered", "since_load")
    list_filter = ("group", "default_enabled", *CatalogAdmin.list_filter)
    search_fields = ("id", "name", "description")


class PersonaL10nInline(admin.StackedInline[PersonaL10n, Persona]):
    model = PersonaL10n
    extra = 0
    can_delete = False
    classes = ("collapse",)
    exclude = ("position",)
    formfield_overrides = CatalogAdmin.formfield_overrides


@admin.register(Persona)
class PersonaAdmin(CatalogAdmin[Persona]):
    list_display = ("id", "name", "category", "status", "risk", "tier", "deployed_count", "is_offered", "since_load")
    list_filter = ("status", "category", "risk", "tier", *CatalogAdmin.list_filter)
    list_select_related = ("owner",)
    search_fields = ("id", "name", "tagline", "author", "owner__email", "owner__id")
    readonly_fields = ("owner", "deployed_count", "created_at", "published_at")
    inlines = (PersonaL10nInline,)
    actions = (*CatalogAdmin.actions, "take_down", "ban")

    def get_readonly_fields(self, request: HttpRequest, obj: Persona | None = None) -> Any:
        """The status of an author's persona is read-only: only rules publish and withdraw such personas."""
        own = super().get_readonly_fields(request, obj)
        return own if obj is None or obj.owner_id is None else (*own, "status")

    def has_moderate_permission(self, request: HttpRequest) -> bool:
        return may_moderate(request)

    @admin.action(description="Take down (community)…", permissions=["moderate"])
    def take_down(self, request: HttpRequest, queryset: QuerySet[Persona]) -> HttpResponse:
        return TakeDown.asked(request, list(queryset.values_list("pk", flat=True)))

    @admin.action(description="Ban the author…", permissions=["moderate"])
    def ban(self, request: HttpRequest, queryset: QuerySet[Persona]) -> HttpResponse:
        return Ban.asked(request, moderation_admin.once(queryset.values_list("owner_id", flat=True)))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        persona = Persona.objects.filter(pk=unquote(object_id)).first()
        context = {"moderation_tools": moderation_admin.tools(request, persona)}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **context})

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"status": PersonaStatus.BUILTIN, "author": HOUSE_AUTHOR}


@admin.register(PersonaL10n)
class PersonaL10nAdmin(CatalogAdmin[PersonaL10n]):
    list_display = ("persona_id", "lang", "name", "tagline", "is_offered", "since_load")
    list_display_links = ("persona_id", "lang")
    list_filter = ("lang", *CatalogAdmin.list_filter)
    search_fields = ("persona__id", "name", "tagline")
    autocomplete_fields = ("persona",)

    def get_readonly_fields(self, request: HttpRequest, obj: PersonaL10n | None = None) -> Any:
        own = super().get_readonly_fields(request, obj)
        return own if obj is None else ("persona", "lang", *own)


@admin.register(Article)
class ArticleAdmin(WithSteps):
    formfield_overrides = CatalogAdmin.formfield_overrides
    list_display = ("title", "persona", "slug", "lang", "status", "updated_at")
    list_filter = ("status", "lang", "updated_at")
    list_select_related = ("persona",)
    search_fields = ("id", "slug", "title", "persona__id", "persona__name")
    autocomplete_fields = ("persona",)
    readonly_fields = ("id", "created_at", "updated_at")
    actions = ("take_down",)
    steps = (DeleteArticles(),)

    def has_moderate_permission(self, request: HttpRequest) -> bool:
        return may_moderate(request)

    @admin.action(description="Take down (community)…", permissions=["moderate"])
    def take_down(self, request: HttpRequest, queryset: QuerySet[Article]) -> HttpResponse:
        return TakeDownArticle.asked(request, list(queryset.values_list("pk", flat=True)))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Article]:
        rows = super().get_queryset(request)
        opens_one = request.resolver_match and request.resolver_match.url_name == "catalog_article_change"
        return rows if opens_one else rows.defer("body", "html")


@admin.register(CatalogVersion)
class CatalogVersionAdmin(ReadOnly, admin.ModelAdmin[CatalogVersion]):
    """When the catalog last changed. Only writes to the catalog change it."""

    list_display = ("token", "updated_at")
