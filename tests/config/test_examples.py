from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs

from config import docs


def test_every_example_is_valid_by_the_schema_that_shows_it() -> None:
    document: dict[str, Any] = json.loads(docs.document().body)
    shown = 0
    for name, component in document["components"]["schemas"].items():
        for example in component.get("examples", []):
            shown += 1
            jsonschema.Draft202012Validator({**document, "$ref": f"#/components/schemas/{name}"}).validate(example)
        for field, schema in component["properties"].items():
            for example in schema.get("examples", []):
                shown += 1
                jsonschema.Draft202012Validator({**document, **schema}).validate(example), field
    assert shown > 50
