"""The import contracts in pyproject.toml cover a new module without a line of its own."""

from __future__ import annotations

from grimp import build_graph
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract

from tests.config.conftest import ROOT

APPS = ("accounts", "agents", "billing", "catalog", "status", "webhooks")
RULES = [f"{app}.{place}" for app in APPS for place in ("weather", "new_room.weather")]
HTTP = ("rest_framework", "config.api", "agents.views.agents", "pages.account.agents.agents", "webhooks.serializers")
CALLERS = ("agents.tasks", "agents.clusters.tasks", "catalog.admin", "billing.admin.ledger")
CONFIGURATION = read_configuration(str(ROOT / "pyproject.toml"))

Imports = set[tuple[str, str]]


def refused(added: Imports, *, by: str) -> Imports:
    """Those of the added imports that the contract forbids whose name starts so."""
    session, contracts = CONFIGURATION["session_options"], CONFIGURATION["contracts_options"]
    graph = build_graph(
        *session["root_packages"],
        include_external_packages=True,
        exclude_type_checking_imports=True,
        cache_dir=None,
    )
    for importer, imported in added:
        graph.add_import(importer=importer, imported=imported, line_number=1, line_contents="import")
    (options,) = [one for one in contracts if one["name"].startswith(by)]
    check = ForbiddenContract(options["name"], session, options).check(graph, verbose=False)
    return {(one["downstream_module"], one["upstream_module"]) for one in check.metadata["invalid_chains"]}


def test_every_new_rule_that_knows_http_is_found() -> None:
    added = {(rule, imported) for rule in RULES for imported in HTTP}
    assert refused(added, by="Rules know nothing of HTTP") == added


def test_every_new_rule_that_calls_its_callers_is_found() -> None:
    added = {(rule, imported) for rule in RULES for imported in CALLERS}
    assert refused(added, by="Tasks, admin and commands call rules") == added


def test_a_new_view_may_know_http_and_rules_may_know_rules() -> None:
    views = {(f"{app}.views.weather", imported) for app in APPS for imported in ("rest_framework", f"{app}.weather")}
    assert refused({*views, *((rule, "config.errors") for rule in RULES)}, by="Rules know nothing of HTTP") == set()
