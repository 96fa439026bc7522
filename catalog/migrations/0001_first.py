import catalog.fields
import catalog.models.offers
import config.ids
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
import functools
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

from catalog.migrations._search import MAKE, UNDO


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_first"),
        ("accounts", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Author",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="author",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="The name that is shown with each of the author's personas.", max_length=60
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("banned_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("banned_by", models.CharField(blank=True, editable=False, max_length=80)),
                ("ban_reason", catalog.fields.Paragraphs(blank=True, editable=False, max_length=2000)),
            ],
            options={
                "ordering": ["-created_at", "user"],
            },
        ),
        migrations.CreateModel(
            name="CatalogVersion",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ("token", models.CharField(max_length=32)),
                ("updated_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Engine",
            fields=[
                (
                    "hidden",
                    models.BooleanField(default=False, help_text="An operator removed it from the public catalog."),
                ),
                (
                    "gone",
                    models.BooleanField(default=False, editable=False, help_text="It is no longer in the data files."),
                ),
                ("loaded", models.JSONField(default=dict, editable=False)),
                (
                    "position",
                    models.PositiveIntegerField(default=10000, help_text="Position in lists, smallest first."),
                ),
                (
                    "id",
                    models.CharField(
                        max_length=20,
                        primary_key=True,
                        serialize=False,
                        validators=[catalog.models.offers.known_engine_id],
                    ),
                ),
                ("label", models.CharField(max_length=200)),
                ("description", catalog.fields.Paragraphs()),
                ("requires_domain", models.BooleanField(default=False)),
                (
                    "min_tier",
                    models.CharField(
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                    ),
                ),
                ("status", models.CharField(choices=[("stable", "Stable"), ("beta", "Beta")], max_length=10)),
                ("skills", models.BooleanField()),
                ("mcp", models.BooleanField()),
                ("skill_registry", models.BooleanField(help_text="Can search a skill registry itself.")),
                ("skill_uninstall", models.BooleanField()),
                ("llm_key", models.BooleanField(help_text="Can use a model key.")),
                ("model", models.BooleanField(help_text="The model can be chosen.")),
                ("sso", models.BooleanField()),
                ("dash_credentials", models.BooleanField()),
                (
                    "llm_providers",
                    catalog.fields.Lines(
                        base_field=models.CharField(
                            choices=[
                                ("openai", "Openai"),
                                ("anthropic", "Anthropic"),
                                ("openrouter", "Openrouter"),
                                ("google", "Google"),
                                ("gemini", "Gemini"),
                                ("groq", "Groq"),
                                ("mistral", "Mistral"),
                                ("deepseek", "Deepseek"),
                                ("xai", "Xai"),
                                ("nous", "Nous"),
                            ],
                            max_length=20,
                        ),
                        blank=True,
                        default=None,
                        help_text="Providers it accepts; empty means every one. Without a model key it accepts none.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "channels",
                    catalog.fields.Lines(
                        base_field=models.CharField(
                            choices=[
                                ("web", "Web"),
                                ("telegram", "Telegram"),
                                ("discord", "Discord"),
                                ("whatsapp", "Whatsapp"),
                                ("email", "Email"),
                            ],
                            max_length=20,
                        ),
                        blank=True,
                        default=list,
                        help_text="Channels that it can connect.",
                        size=None,
                    ),
                ),
                (
                    "toolsets",
                    catalog.fields.Lines(
                        base_field=models.CharField(max_length=40),
                        blank=True,
                        default=None,
                        help_text="Toolsets it supports, by id. Empty means all.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "keyed_toolsets",
                    catalog.fields.Lines(
                        base_field=models.CharField(max_length=40),
                        blank=True,
                        default=None,
                        help_text="The toolsets for which it needs the owner's key for the toolset's service.",
                        null=True,
                        size=None,
                    ),
                ),
            ],
            options={
                "ordering": ["position", "id"],
            },
        ),
        migrations.CreateModel(
            name="LlmModel",
            fields=[
                (
                    "hidden",
                    models.BooleanField(default=False, help_text="An operator removed it from the public catalog."),
                ),
                (
                    "gone",
                    models.BooleanField(default=False, editable=False, help_text="It is no longer in the data files."),
                ),
                ("loaded", models.JSONField(default=dict, editable=False)),
                (
                    "position",
                    models.PositiveIntegerField(default=10000, help_text="Position in lists, smallest first."),
                ),
                (
                    "id",
                    models.CharField(
                        help_text="<provider>:<model name>", max_length=200, primary_key=True, serialize=False
                    ),
                ),
                (
                    "provider",
                    models.CharField(
                        choices=[
                            ("openai", "Openai"),
                            ("anthropic", "Anthropic"),
                            ("openrouter", "Openrouter"),
                            ("google", "Google"),
                            ("gemini", "Gemini"),
                            ("groq", "Groq"),
                            ("mistral", "Mistral"),
                            ("deepseek", "Deepseek"),
                            ("xai", "Xai"),
                            ("nous", "Nous"),
                        ],
                        max_length=20,
                    ),
                ),
                ("label", models.CharField(max_length=200)),
                (
                    "input_usd",
                    models.DecimalField(decimal_places=4, help_text="USD per 1M input tokens.", max_digits=9),
                ),
                (
                    "output_usd",
                    models.DecimalField(decimal_places=4, help_text="USD per 1M output tokens.", max_digits=9),
                ),
                ("source", models.CharField(help_text="Where the prices were found.", max_length=200)),
                ("checked_at", models.DateField(help_text="When they were found there.")),
                (
                    "pinned",
                    models.BooleanField(
                        db_default=False, default=False, help_text="A refresh never removes it from the catalog."
                    ),
                ),
                (
                    "outdated",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        editable=False,
                        help_text="The last refresh did not choose it any more.",
                    ),
                ),
                (
                    "refreshed_at",
                    models.DateTimeField(editable=False, help_text="When a refresh last found its prices.", null=True),
                ),
            ],
            options={
                "verbose_name": "LLM model",
                "ordering": ["position", "id"],
            },
        ),
        migrations.CreateModel(
            name="LlmProvider",
            fields=[
                (
                    "hidden",
                    models.BooleanField(default=False, help_text="An operator removed it from the public catalog."),
                ),
                (
                    "gone",
                    models.BooleanField(default=False, editable=False, help_text="It is no longer in the data files."),
                ),
                ("loaded", models.JSONField(default=dict, editable=False)),
                (
                    "position",
                    models.PositiveIntegerField(default=10000, help_text="Position in lists, smallest first."),
                ),
                (
                    "id",
                    models.CharField(
                        choices=[
                            ("openai", "Openai"),
                            ("anthropic", "Anthropic"),
                            ("openrouter", "Openrouter"),
                            ("google", "Google"),
                            ("gemini", "Gemini"),
                            ("groq", "Groq"),
                            ("mistral", "Mistral"),
                            ("deepseek", "Deepseek"),
                            ("xai", "Xai"),
                            ("nous", "Nous"),
                        ],
                        max_length=20,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("label", models.CharField(max_length=200)),
                (
                    "env_var",
                    models.CharField(
                        max_length=80,
                        validators=[
                            django.core.validators.RegexValidator("\\A[A-Z][A-Z0-9_]*\\Z", "must look like A_NAME")
                        ],
                    ),
                ),
            ],
            options={
                "verbose_name": "LLM provider",
                "ordering": ["position", "id"],
            },
        ),
        migrations.CreateModel(
            name="Tier",
            fields=[
                (
                    "hidden",
                    models.BooleanField(default=False, help_text="An operator removed it from the public catalog."),
                ),
                (
                    "gone",
                    models.BooleanField(default=False, editable=False, help_text="It is no longer in the data files."),
                ),
                ("loaded", models.JSONField(default=dict, editable=False)),
                (
                    "position",
                    models.PositiveIntegerField(default=10000, help_text="Position in lists, smallest first."),
                ),
                (
                    "id",
                    models.CharField(
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("memory_mib", models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(64)])),
                ("disk_gib", models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)])),
                (
                    "cpu",
                    models.DecimalField(
                        decimal_places=2,
                        max_digits=5,
                        validators=[django.core.validators.MinValueValidator(Decimal("0.05"))],
                    ),
                ),
                (
                    "monthly_usd",
                    models.DecimalField(
                        decimal_places=2,
                        max_digits=8,
                        validators=[django.core.validators.MinValueValidator(Decimal("0"))],
                    ),
                ),
            ],
            options={
                "ordering": ["position", "id"],
            },
        ),
        migrations.CreateModel(
            name="Toolset",
            fields=[
                (
                    "hidden",
                    models.BooleanField(default=False, help_text="An operator removed it from the public catalog."),
                ),
                (
                    "gone",
                    models.BooleanField(default=False, editable=False, help_text="It is no longer in the data files."),
                ),
                ("loaded", models.JSONField(default=dict, editable=False)),
                (
                    "position",
                    models.PositiveIntegerField(default=10000, help_text="Position in lists, smallest first."),
                ),
                (
                    "id",
                    models.CharField(
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z][a-z0-9_]*\\Z", "must be lowercase letters, digits and underscores"
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("description", catalog.fields.Paragraphs()),
                ("default_enabled", models.BooleanField(default=False, help_text="It is in the safe minimal set.")),
                (
                    "group",
                    models.CharField(
                        choices=[
                            ("web", "Web"),
                            ("files", "Files"),
                            ("media", "Media"),
                            ("voice", "Voice"),
                            ("thinking", "Thinking"),
                            ("integrations", "Integrations"),
                            ("network", "Network"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "plugin",
                    models.CharField(blank=True, help_text="Only for plugins of the engine.", max_length=80, null=True),
                ),
                (
                    "service",
                    models.CharField(
                        blank=True,
                        choices=[("tavily", "Tavily"), ("openai", "OpenAI")],
                        help_text="The service whose key it needs, on engines that cannot do it by themselves.",
                        max_length=20,
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["position", "id"],
            },
        ),
        migrations.CreateModel(
            name="Persona",
            fields=[
                (
                    "hidden",
                    models.BooleanField(default=False, help_text="An operator removed it from the public catalog."),
                ),
                (
                    "gone",
                    models.BooleanField(default=False, editable=False, help_text="It is no longer in the data files."),
                ),
                ("loaded", models.JSONField(default=dict, editable=False)),
                (
                    "position",
                    models.PositiveIntegerField(default=10000, help_text="Position in lists, smallest first."),
                ),
                ("name", models.CharField(max_length=200)),
                ("tagline", models.CharField(max_length=200)),
                ("for_who", catalog.fields.Paragraphs()),
                (
                    "does",
                    catalog.fields.Lines(
                        base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                    ),
                ),
                (
                    "does_examples",
                    models.JSONField(blank=True, help_text="One example question per label of `does`.", null=True),
                ),
                ("disclaimer", catalog.fields.Paragraphs(blank=True, null=True)),
                (
                    "demo",
                    models.JSONField(
                        blank=True, help_text='A conversation: [{"role": "user" or "agent", "text": …}]', null=True
                    ),
                ),
                (
                    "id",
                    models.CharField(
                        max_length=80,
                        primary_key=True,
                        serialize=False,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z0-9](?:-?[a-z0-9])*\\Z", "must be lowercase letters, digits and single hyphens"
                            )
                        ],
                    ),
                ),
                ("icon", models.CharField(max_length=16)),
                (
                    "skills",
                    catalog.fields.Lines(
                        base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                    ),
                ),
                (
                    "channels",
                    catalog.fields.Lines(
                        base_field=models.CharField(
                            choices=[
                                ("web", "Web"),
                                ("telegram", "Telegram"),
                                ("discord", "Discord"),
                                ("whatsapp", "Whatsapp"),
                                ("email", "Email"),
                            ],
                            max_length=20,
                        ),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                (
                    "category",
                    models.CharField(
                        choices=[
                            ("study", "Study"),
                            ("creative", "Creative"),
                            ("gaming", "Gaming"),
                            ("career", "Career"),
                            ("life", "Life"),
                            ("social", "Social"),
                            ("tech", "Tech"),
                            ("fun", "Fun"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "tags",
                    catalog.fields.Lines(
                        base_field=models.CharField(max_length=40), blank=True, default=list, size=None
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                    ),
                ),
                ("risk", models.CharField(choices=[("low", "Low"), ("high", "High")], default="low", max_length=8)),
                ("soul", catalog.fields.Paragraphs(validators=[django.core.validators.MaxLengthValidator(12000)])),
                (
                    "recommended_models",
                    catalog.fields.Lines(
                        base_field=models.CharField(max_length=200),
                        blank=True,
                        default=list,
                        help_text="Model ids, the best first.",
                        size=None,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("builtin", "Builtin"), ("draft", "Draft"), ("published", "Published")],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("author", models.CharField(help_text="Display name.", max_length=200)),
                (
                    "deployments",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        editable=False,
                        help_text="Number of agents made from it that have started. It is updated at once.",
                    ),
                ),
                (
                    "deployed_count",
                    models.PositiveIntegerField(
                        default=0, editable=False, help_text="The number that is shown. It is updated once a minute."
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "updated_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=django.utils.timezone.now,
                        editable=False,
                    ),
                ),
                ("published_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "reviewed_at",
                    models.DateTimeField(
                        blank=True,
                        editable=False,
                        help_text="When an operator approved the published version.",
                        null=True,
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="personas",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["position", "id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("reviewed_at__isnull", True), ("status", "published")),
                        fields=["published_at"],
                        name="persona_queue",
                    ),
                    models.Index(
                        condition=models.Q(("deployments", models.F("deployed_count")), _negated=True),
                        fields=["id"],
                        name="persona_count_due",
                    ),
                    models.Index(
                        condition=models.Q(("owner__isnull", False)),
                        fields=["owner", "-created_at"],
                        name="persona_author",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("owner__isnull", True), ("status", "builtin")),
                            models.Q(models.Q(("status", "builtin"), _negated=True), ("owner__isnull", False)),
                            _connector="OR",
                        ),
                        name="persona_builtin_has_no_owner",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Article",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("art",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "slug",
                    models.CharField(
                        max_length=80,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z0-9](?:-?[a-z0-9])*\\Z", "must be lowercase letters, digits and single hyphens"
                            )
                        ],
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                ("summary", catalog.fields.Paragraphs(blank=True)),
                (
                    "lang",
                    models.CharField(
                        choices=[
                            ("en", "English"),
                            ("ru", "Русский"),
                            ("es", "Español"),
                            ("pt", "Português"),
                            ("tr", "Türkçe"),
                            ("ind", "Bahasa Indonesia"),
                        ],
                        default="en",
                        max_length=3,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("draft", "Draft"), ("published", "Published")], default="draft", max_length=10
                    ),
                ),
                ("body", catalog.fields.Paragraphs(validators=[django.core.validators.MaxLengthValidator(65536)])),
                (
                    "html",
                    models.TextField(
                        db_default="",
                        default="",
                        editable=False,
                        help_text="The HTML of the body. Empty: not made yet.",
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "persona",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="articles", to="catalog.persona"
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-id"],
                "constraints": [models.UniqueConstraint(fields=("persona", "slug"), name="article_slug_once")],
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[],
            options={
                "verbose_name": "persona in review",
                "verbose_name_plural": "review queue",
                "ordering": ["published_at", "id"],
                "permissions": [("moderate_persona", "Can approve and take down personas and ban authors")],
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("catalog.persona",),
        ),
        migrations.CreateModel(
            name="PersonaL10n",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "hidden",
                    models.BooleanField(default=False, help_text="An operator removed it from the public catalog."),
                ),
                (
                    "gone",
                    models.BooleanField(default=False, editable=False, help_text="It is no longer in the data files."),
                ),
                ("loaded", models.JSONField(default=dict, editable=False)),
                (
                    "position",
                    models.PositiveIntegerField(default=10000, help_text="Position in lists, smallest first."),
                ),
                ("name", models.CharField(max_length=200)),
                ("tagline", models.CharField(max_length=200)),
                ("for_who", catalog.fields.Paragraphs()),
                (
                    "does",
                    catalog.fields.Lines(
                        base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                    ),
                ),
                (
                    "does_examples",
                    models.JSONField(blank=True, help_text="One example question per label of `does`.", null=True),
                ),
                ("disclaimer", catalog.fields.Paragraphs(blank=True, null=True)),
                (
                    "demo",
                    models.JSONField(
                        blank=True, help_text='A conversation: [{"role": "user" or "agent", "text": …}]', null=True
                    ),
                ),
                (
                    "lang",
                    models.CharField(
                        choices=[
                            ("ru", "Русский"),
                            ("es", "Español"),
                            ("pt", "Português"),
                            ("tr", "Türkçe"),
                            ("ind", "Bahasa Indonesia"),
                        ],
                        max_length=3,
                    ),
                ),
                (
                    "persona",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="localizations", to="catalog.persona"
                    ),
                ),
            ],
            options={
                "verbose_name": "localization",
                "ordering": ["persona", "lang"],
                "constraints": [models.UniqueConstraint(fields=("persona", "lang"), name="persona_l10n_once")],
            },
        ),
        migrations.CreateModel(
            name="Takedown",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("tkd",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("slug", models.CharField(help_text="The persona's id.", max_length=80)),
                (
                    "reason",
                    catalog.fields.Paragraphs(help_text="The text that was mailed to the author.", max_length=2000),
                ),
                ("taken_down_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("taken_down_by", models.CharField(max_length=80)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="takedowns",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "persona",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="takedowns",
                        to="catalog.persona",
                    ),
                ),
            ],
            options={
                "ordering": ["-taken_down_at", "-id"],
            },
        ),
        migrations.RunSQL(
            MAKE,
            UNDO,
            state_operations=[
                migrations.CreateModel(
                    name="PersonaDocument",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "persona_id", "lang", blank=True, editable=False, primary_key=True, serialize=False
                            ),
                        ),
                        (
                            "lang",
                            models.CharField(
                                choices=[
                                    ("en", "English"),
                                    ("ru", "Русский"),
                                    ("es", "Español"),
                                    ("pt", "Português"),
                                    ("tr", "Türkçe"),
                                    ("ind", "Bahasa Indonesia"),
                                ],
                                max_length=3,
                            ),
                        ),
                        ("category", models.CharField(max_length=20)),
                        ("tier", models.CharField(max_length=20)),
                        ("position", models.PositiveIntegerField()),
                        ("public", models.BooleanField()),
                        ("document", django.contrib.postgres.search.SearchVectorField()),
                        (
                            "persona",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="catalog.persona",
                            ),
                        ),
                    ],
                    options={
                        "default_permissions": (),
                        "indexes": [
                            django.contrib.postgres.indexes.GinIndex(
                                condition=models.Q(("public", True)),
                                fastupdate=False,
                                fields=["document"],
                                name="persona_document",
                            )
                        ],
                    },
                ),
            ],
        ),
    ]
