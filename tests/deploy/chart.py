"""The chart of deploy/helm as Helm renders it, with Helm's own engine from the wheel of helm-python-sdk.

Helm runs in its own process. Inside ours, Go's runtime would take over signals and raise the limit of open files for
later tests. The process costs a fifth of a second, and one process renders any number of values.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "agentpods"
RELEASE, NAMESPACE = "agentpods", "agentpods-system"
SECONDS = 60

Values = Mapping[str, Any]
Object = dict[str, Any]

# The smallest set of values that an operator must give.
MINIMAL: Values = {
    "image": {"repository": "registry.example.com/agentpods"},
    "engineImages": {"pi": "registry.example.com/agentpods-pi:1.0.0"},
    "console": {"host": "console.example.com", "trustedProxies": ["10.42.0.0/16"]},
    "platform": {"domain": "pods.example.net", "expectedIp": "203.0.113.10"},
    "secret": {"existing": "agentpods-settings"},
    "networkPolicy": {"gatewayNamespace": "gateway", "ownNetworks": []},
}


class ChartRefused(Exception):
    """Helm's own message: a violation of the values' schema, or an error of a template."""


def render(values: Values | None = None) -> list[Object]:
    """All objects of the release with MINIMAL and these values. They are shared: do not change them."""
    (rendered,) = render_all([values or {}])
    if isinstance(rendered, ChartRefused):
        raise rendered
    return rendered


def render_all(cases: Sequence[Values]) -> list[list[Object] | ChartRefused]:
    """The same for many values at once, in their order. A refusal takes the place of the objects."""
    return [
        ChartRefused(answer["refused"]) if "refused" in answer else _objects(answer["files"])
        for answer in _ask([{"values": merged(MINIMAL, values)} for values in cases])
    ]


def notes(values: Values | None = None) -> str:
    """The text that an operator sees after an install."""
    (answer,) = _ask([{"values": merged(MINIMAL, values or {})}])
    return str(answer["files"][f"{CHART.name}/templates/NOTES.txt"])


def lint(values: Values) -> list[str]:
    """The warnings and errors of `helm lint --strict`."""
    (answer,) = _ask([{"values": dict(values), "lint": True}])
    return list(answer["findings"])


def on_a_server_without_policies(values: Values | None = None) -> list[Object] | ChartRefused:
    """Rendered for an API server that lists its kinds and does not have ValidatingAdmissionPolicy."""
    (answer,) = _ask([{"values": merged(MINIMAL, values or {}), "tells_kinds": True}])
    return ChartRefused(answer["refused"]) if "refused" in answer else _objects(answer["files"])


def username(account: str) -> str:
    """The API server's name for `drive`, `observe` or `remote`."""
    return f"system:serviceaccount:{NAMESPACE}:{RELEASE}-{account}"


@cache
def _hosting_alone() -> list[Object]:
    return render({"controlPlane": {"enabled": False}})


def accounts(*, remote: bool = False, values: Values | None = None) -> list[Object]:
    """The chart's accounts, rights and policies: `drive` and `observe`, or `remote`, which is both."""
    kinds = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
    policies = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    objects = render(values) if values else _hosting_alone() if remote else _minimal()
    return [one for one in objects if one["kind"] in kinds | policies]


@cache
def rules(account: str) -> list[Object]:
    """The rules of the ClusterRole of `drive` or `observe`, rendered with Gateway API and certificates."""
    return role_rules(_minimal(), account)


@cache
def _minimal() -> list[Object]:
    return render()


def role_rules(objects: Sequence[Object], account: str) -> list[Object]:
    """The rules of the ClusterRole of `drive` or `observe` among these objects."""
    name = f"{NAMESPACE}-{RELEASE}-{account}"
    (role,) = [one for one in objects if one["kind"] == "ClusterRole" and one["metadata"]["name"] == name]
    return list(role["rules"])


def merged(under: Values, over: Values) -> dict[str, Any]:
    """Merged as Helm merges values files."""
    found = dict(under)
    for name, value in over.items():
        below = found.get(name)
        found[name] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return found


def _ask(questions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Ask Helm in its process. The environment is empty, because Helm would read the user's settings from it."""
    command = [sys.executable, "-I", __file__]
    answer = subprocess.run(
        command, input=json.dumps(questions), capture_output=True, text=True, check=True, timeout=SECONDS, env={}
    )
    return list(json.loads(answer.stdout))


def _objects(files: Mapping[str, str]) -> list[Object]:
    texts = [text for name, text in sorted(files.items()) if name.endswith(".yaml")]
    return [found for text in texts for found in _parsed(text)]


@cache
def _parsed(text: str) -> tuple[Object, ...]:
    """Cached: most values leave most files unchanged, and parsing YAML takes longer than rendering it."""
    return tuple(found for found in yaml.load_all(text, Loader=_Strict) if found is not None)


class _Strict(yaml.CSafeLoader):
    """A YAML loader that refuses a repeated key, which YAML's own loader ignores."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        if len(names) != len(set(names)):
            raise yaml.constructor.ConstructorError(None, None, f"a key is there twice in {names}", node.start_mark)
        return super().construct_mapping(node, deep=deep)


def _answer(chart: Any, question: Mapping[str, Any]) -> dict[str, Any]:
    import helm_python  # only in Helm's process

    if question.get("lint"):
        report = helm_python.lint(CHART, question["values"], strict=True)
        worth = [one["error"] for one in report["messages"] if one["severity"] >= 2]
        return {"findings": [*worth, *report["errors"]]}
    if question.get("tells_kinds"):
        chart = _of_a_server_that_tells_its_kinds(helm_python)
    try:
        return {"files": chart.render(question["values"], name=RELEASE, namespace=NAMESPACE)}
    except helm_python.HelmError as error:
        return {"refused": str(error)}


def _of_a_server_that_tells_its_kinds(helm: Any) -> Any:
    """The chart for a server that lists its kinds. Helm alone only knows versions, so a version stands for a kind."""
    copy = Path(tempfile.mkdtemp()) / CHART.name
    shutil.copytree(CHART, copy)
    template = copy / "templates" / "admission.yaml"
    text = template.read_text(encoding="utf-8")
    template.write_text(text.replace('Has "v1/Pod"', 'Has "v1"'), encoding="utf-8")
    try:
        return helm.Chart.load(copy)
    finally:
        shutil.rmtree(copy.parent)


def main() -> None:
    import helm_python

    chart = helm_python.Chart.load(CHART)
    json.dump([_answer(chart, question) for question in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
