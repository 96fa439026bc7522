"""Writes the generated parts of the SDKs: `python -m sdk.generate`, or `--check` to compare them only.

datamodel-code-generator and openapi-typescript make the types. The methods of the Python SDK and their blocking half
are made here.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from sdk.generate import typescript
from sdk.generate.blocking import blocking
from sdk.generate.operations import module

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "openapi.yaml"
PACKAGE = ROOT / "sdk" / "python" / "src" / "agentpods"
NOTE = '"""The objects of the API. Generated from openapi.yaml: `make sdk` writes it."""\n'
BLOCKING_NOTE = "# Made from `{}`: change that file, then `make sdk`.\n"
OPTIONS = [
    *("--input-file-type", "openapi", "--openapi-scopes", "schemas"),
    *("--output-model-type", "typing.TypedDict", "--target-python-version", "3.11"),
    *("--enum-field-as-literal", "all", "--type-mappings", "string+decimal=string"),
    *("--use-union-operator", "--use-standard-collections", "--use-schema-description", "--disable-timestamp"),
    *("--disable-warnings", "--formatters", "builtin", "--custom-file-header", NOTE),
]


def main(arguments: list[str]) -> int:
    made = files()
    if "--check" not in arguments:
        made |= {typescript.SCHEMA: typescript.schema(DOCUMENT)}
        for path, text in made.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    differing = _differing(made) | (set() if typescript.is_current(DOCUMENT) else {typescript.SCHEMA})
    changed = sorted(str(path.relative_to(ROOT)) for path in differing)
    for name in changed:
        print(f"{name} is not what openapi.yaml and its source make: run `make sdk`")  # noqa: T201
    return 1 if changed else 0


def _differing(made: dict[Path, str]) -> set[Path]:
    """The files that are not as they were made, and those in the generated folders that nothing makes."""
    there = {path for folder in ("_generated", "_sync") for path in (PACKAGE / folder).glob("*.py")}
    return {path for path in made.keys() | there if not path.exists() or path.read_text("utf-8") != made.get(path)}


def files() -> dict[Path, str]:
    """The text of each generated file."""
    calls = module(yaml.safe_load(DOCUMENT.read_text(encoding="utf-8")))
    sources = {path.name: path.read_text("utf-8") for path in sorted((PACKAGE / "_async").glob("*.py"))}
    made = {PACKAGE / "_generated" / "types.py": _types(), PACKAGE / "_generated" / "__init__.py": ""}
    made |= {PACKAGE / "_generated" / "async_calls.py": calls, PACKAGE / "_generated" / "calls.py": blocking(calls)}
    for name, source in sources.items():
        note = BLOCKING_NOTE.format(f"_async/{name}") if source else ""
        made[PACKAGE / "_sync" / name] = note + blocking(source)
    return {path: _formatted(text) for path, text in made.items()}


def _types() -> str:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "types.py"
        command = [sys.executable, "-m", "datamodel_code_generator", "--input", str(DOCUMENT), "--output", str(output)]
        subprocess.run([*command, *OPTIONS], check=True)
        return output.read_text(encoding="utf-8")


def _formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--fix-only", "--quiet", "--select", "I,F401"], ["format", "--quiet"]):
        settings = ["--config", str(ROOT / "pyproject.toml"), "--stdin-filename", str(PACKAGE / "made.py"), "-"]
        done = subprocess.run([*ruff, *command, *settings], input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
