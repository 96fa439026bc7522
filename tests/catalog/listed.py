"""Entries of a list of models in the format of models.dev."""

from __future__ import annotations

from typing import Any

MODEL = {
    "attachment": True,
    "reasoning": True,
    "reasoning_options": [{"type": "effort", "values": ["low", "high"]}],
    "temperature": False,
    "knowledge": "2026-02",
    "tool_call": True,
    "structured_output": True,
    "open_weights": False,
    "last_updated": "2026-10-01",
    "modalities": {"input": ["text", "image"], "output": ["text"]},
    "limit": {"context": 400_000, "output": 128_000},
}


def model(model_id: str, input_usd: Any, output_usd: Any, released: str = "2026-10-01", **given: Any) -> dict[str, Any]:
    return {
        **MODEL,
        "id": model_id,
        "name": model_id.rpartition("/")[2].title(),
        "release_date": released,
        "cost": {"input": input_usd, "output": output_usd, "cache_read": 0.05},
        **given,
    }


def provider(name: str, *models: dict[str, Any], **given: Any) -> dict[str, Any]:
    return {
        "id": name,
        "env": [f"{name.upper()}_API_KEY"],
        "npm": f"@ai-sdk/{name}",
        "name": name.title(),
        "doc": f"https://{name}.example/docs/models",
        "models": {entry["id"]: entry for entry in models},
        **given,
    }


def document(*providers: dict[str, Any]) -> dict[str, Any]:
    """A list with one more provider, which we do not know; the real list has a hundred of them."""
    others = provider("cloudburst", model("cloudburst-9", 1, 2))
    return {entry["id"]: entry for entry in (*providers, others)}
