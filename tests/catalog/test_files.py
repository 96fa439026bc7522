"""The reviewed data files: the content of ours, and the error messages for wrong files."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog import files
from catalog.models import Engine, LlmModel, LlmProvider, Tier, Toolset
from catalog.vocabulary import EngineId, ProviderId, TierId

CONTENTS = files.read()
ENGINES = {row.id: row for row in CONTENTS.rows[Engine] if isinstance(row, Engine)}
MODELS = [row for row in CONTENTS.rows[LlmModel] if isinstance(row, LlmModel)]

# Copied from the sources named in the data file, so that a rule or a price changes only on purpose.
COST_CLASSES = {
    "cheap": {
        "openai:gpt-6-luna",
        "anthropic:claude-haiku-5-5",
        "google:gemini-3.5-flash-lite",
        "gemini:gemini-3.5-flash-lite",
        "groq:openai/gpt-oss-20b",
        "groq:openai/gpt-oss-120b",
        "mistral:mistral-small-latest",
        "deepseek:deepseek-flash",
        "openrouter:z-ai/glm-5.3-flash",
        "openrouter:deepseek/deepseek-v4.1-flash",
        "nous:Hermes-4-70B",
        "nous:Hermes-4-405B",
    },
    "mid": {
        "openai:gpt-6.2-sol",
        "anthropic:claude-sonnet-5-5",
        "google:gemini-3.8-flash",
        "gemini:gemini-3.8-flash",
        "google:gemini-3.1-pro-preview",
        "gemini:gemini-3.1-pro-preview",
        "groq:qwen/qwen3.6-27b",
        "mistral:mistral-medium-3-5",
        "mistral:mistral-large-4-0",
        "deepseek:deepseek-v4-pro",
        "xai:grok-4.3",
        "xai:grok-4.7",
        "openrouter:z-ai/glm-5.3",
        "openrouter:anthropic/claude-sonnet-5.5",
        "nous:z-ai/glm-5.2",
    },
    "premium": {
        "openai:gpt-6.2-astra",
        "anthropic:claude-opus-5-5",
        "anthropic:claude-fable-5-1",
        "openrouter:openai/gpt-6-astra",
    },
}

SKILLS, MCP, REGISTRY, UNINSTALL = "skills", "mcp", "skill_registry", "skill_uninstall"
KEY, MODEL, SSO, DASH = "llm_key", "model", "sso", "dash_credentials"
CAPABILITIES = {
    "hermes": {SKILLS, MCP, REGISTRY, UNINSTALL, KEY, MODEL, DASH},
    "openclaw": {SKILLS, MCP, UNINSTALL, KEY, MODEL, DASH},
    "n8n": {MCP, KEY, MODEL, DASH},
    "claude-code": {SKILLS, MCP, UNINSTALL, KEY, MODEL},
    "opencode": {SKILLS, MCP, UNINSTALL, KEY, MODEL, DASH},
    "pi": {SKILLS, MCP, UNINSTALL, KEY, MODEL},
}
ALL_BUT_NOUS = [provider for provider in ProviderId.values if provider != "nous"]


def test_every_id_that_the_spec_names_is_there() -> None:
    assert [row.pk for row in CONTENTS.rows[Tier]] == TierId.values
    assert set(ENGINES) == set(EngineId.values)
    assert [row.pk for row in CONTENTS.rows[LlmProvider]] == ProviderId.values


def test_engines_can_what_was_verified_about_them() -> None:
    flags = [SKILLS, MCP, REGISTRY, UNINSTALL, KEY, MODEL, SSO, DASH]
    found = {name: {flag for flag in flags if getattr(engine, flag)} for name, engine in ENGINES.items()}
    assert found == CAPABILITIES
    assert ENGINES["claude-code"].accepted_providers == ["anthropic"]
    assert all(
        ENGINES[name].accepted_providers == ALL_BUT_NOUS for name in ("pi", "hermes", "opencode", "openclaw", "n8n")
    )


def test_engines_need_the_tier_that_they_fit() -> None:
    assert {name: engine.min_tier for name, engine in ENGINES.items()} == {
        "pi": "tiny",
        "hermes": "small",
        "opencode": "small",
        "claude-code": "small",
        "openclaw": "medium",
        "n8n": "medium",
    }
    assert [name for name, engine in ENGINES.items() if engine.requires_domain] == ["n8n"]


def test_every_engine_supports_agent_to_agent() -> None:
    assert all(engine.toolsets is None or "a2a" in engine.toolsets for engine in ENGINES.values())


def test_models_are_in_the_class_of_their_prices() -> None:
    found = {name: {model.id for model in MODELS if model.cost_tier == name} for name in COST_CLASSES}
    assert found == COST_CLASSES
    assert len(MODELS) >= 25


def test_every_provider_has_a_model_and_google_mirrors_gemini() -> None:
    assert {model.provider for model in MODELS} == set(ProviderId.values)
    google, gemini = ([m.name for m in MODELS if m.provider == vendor] for vendor in ("google", "gemini"))
    assert google == gemini


def test_the_safe_set_of_toolsets_runs_no_programs() -> None:
    rows = [row for row in CONTENTS.rows[Toolset] if isinstance(row, Toolset)]
    safe = {row.id for row in rows if row.default_enabled}
    assert safe == {"web", "file", "vision", "memory", "session_search", "todo", "skills"}
    assert {row.id: row.plugin for row in rows if row.plugin} == {"a2a": "a2a-platform"}


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("tiers.yaml", "id: tiny", "id: huge", "tiers.yaml: huge: id: Value 'huge' is not a valid choice."),
        ("tiers.yaml", "name: Tiny, ", "", "tiers.yaml: tiny: name: This field cannot be blank."),
        ("tiers.yaml", "name: Tiny, ", "name: Tiny, colour: red, ", "tiers.yaml: tiny: colour: is not a column"),
        ("tiers.yaml", "name: Tiny, ", "name: Tiny, gone: true, ", "tiers.yaml: tiny: gone: is not a column"),
        ("tiers.yaml", "id: tiny", "id: small", "tiers.yaml: small: is listed twice"),
        ("tiers.yaml", "name: Tiny, ", "name: A, name: B, ", "'name' is given twice"),
        ("tiers.yaml", "- {id: tiny", "{id: tiny", "tiers.yaml: did not find expected"),
        ("tiers.yaml", 'monthly_usd: "5"', 'monthly_usd: "-5"', "tiny: monthly_usd: Ensure this value is greater"),
        ("models.yaml", "openai:gpt-6-luna", "acme:gpt-6-luna", "acme:gpt-6-luna: provider: Value 'acme' is not"),
        (
            "models.yaml",
            "openai:gpt-6-luna",
            "openai",
            "models.yaml: openai: provider: the id must be openai:<model name>",
        ),
        (
            "engines.yaml",
            "[file, terminal, skills, a2a]",
            "[file, laser]",
            "engine pi: toolsets: not in the catalog: laser",
        ),
        ("engines.yaml", "min_tier: tiny", "min_tier: nano", "engines.yaml: pi: min_tier: Value 'nano' is not"),
        ("toolsets.yaml", "id: stt,", "id: S-T-T,", "toolsets.yaml: S-T-T: id: must be lowercase"),
        ("personas/exam-coach.yaml", "tier: tiny", "tier: nano", "personas/exam-coach.yaml: tier: Value 'nano'"),
        ("personas/exam-coach.yaml", 'icon: "🎓"', "icon: A\nid: other", "id: 'other' must be the file's name"),
        (
            "personas/exam-coach.yaml",
            "openai:gpt-6-luna",
            "openai:x",
            "recommended_models: not in the catalog: openai:x",
        ),
        ("personas/exam-coach.yaml", "  ind:", "  id:", "localizations: must be exactly ru, es, pt, tr, ind"),
        ("personas/exam-coach.yaml", '"Sınav Koçu"', '""', "exam-coach.yaml: tr: name: This field cannot be blank."),
        ("personas/exam-coach.yaml", "- user: ", "- boss: ", "exam-coach.yaml: demo: line 1 must be"),
        ("personas/exam-coach.yaml", "risk: low", "risk: high", "disclaimer: is required when the risk is high"),
    ],
)
def test_wrong_files_are_told_where(source: Path, name: str, old: str, new: str, problem: str) -> None:
    path = source / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(files.CatalogInvalid) as refusal:
        files.read(source)
    assert problem in str(refusal.value)


def test_a_localization_must_say_what_the_persona_says(source: Path) -> None:
    path = source / "personas" / "budget-coach.yaml"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if "Планирует выход" not in line and 'disclaimer: "Общая' not in line]
    swapped = "".join(kept).replace('- user: "Gaji saya', '- agent: "Gaji saya')
    path.write_text(swapped, encoding="utf-8")
    with pytest.raises(files.CatalogInvalid) as refusal:
        files.read(source)
    assert refusal.value.problems == [
        "personas/budget-coach.yaml: ru: does: has 3 labels, the persona 4",
        "personas/budget-coach.yaml: ru: disclaimer: must be there exactly when the persona has one",
        "personas/budget-coach.yaml: ind: demo: must have the persona's speakers in the same order",
    ]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("engines.yaml", "id: pi", "engines.yaml: must be a list"),
        ("engines.yaml", "- pi", "engines.yaml: 0: must be an object"),
        ("personas/game-master.yaml", "- a", "game-master.yaml: must be a mapping"),
        (
            "personas/game-master.yaml",
            "does: 5\ndemo: [5]\ndoes_examples: {a: b}",
            "yaml: does: must be a list of texts",
        ),
        ("personas/game-master.yaml", "localizations: 5", "personas/game-master.yaml: "),
    ],
)
def test_files_of_another_shape_are_refused(source: Path, name: str, text: str, problem: str) -> None:
    (source / name).write_text(text, encoding="utf-8")
    with pytest.raises(files.CatalogInvalid) as refusal:
        files.read(source)
    assert problem in str(refusal.value)


def test_a_missing_file_is_reported_with_all_else(source: Path) -> None:
    (source / "tiers.yaml").unlink()
    (source / "models.yaml").write_text("[]", encoding="utf-8")
    with pytest.raises(files.CatalogInvalid) as refusal:
        files.read(source)
    problems = str(refusal.value)
    assert "tiers.yaml: [Errno 2]" in problems
    assert "engine pi: min_tier: not in the catalog: tiny" in problems
    assert "persona game-master: recommended_models: not in the catalog: anthropic:claude-sonnet-5-5" in problems
