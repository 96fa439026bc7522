"""/llms.txt, /llms-full.txt and /.well-known/: true, bounded, and leading to addresses that exist."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta

import pytest
from django.conf import settings
from django.utils import timezone
from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db

SHORT, FULL = "/llms.txt", "/llms-full.txt"
BUILT = "/guide/"  # there once `make guide` has built it


def text(api: APIClient, path: str) -> str:
    answer = api.get(path)
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    return str(answer.content.decode())


def test_the_short_text_fits_into_any_model_and_the_full_one_is_bounded(api: APIClient) -> None:
    assert len(text(api, SHORT)) < 16_000
    assert "`?dryRun=true`" in text(api, SHORT)
    assert 50_000 < len(text(api, FULL)) < 300_000


def test_each_operation_is_in_both(api: APIClient) -> None:
    paths = json.loads(api.get("/openapi.json").content)["paths"]
    calls = [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]
    short, full = text(api, SHORT), text(api, FULL)
    assert [call for call in calls if f"`{call}`" not in short] == []
    assert [call for call in calls if f"### {call} (" not in full] == []


def test_every_link_leads_somewhere(api: APIClient) -> None:
    found = set(re.findall(rf"\]\({re.escape(settings.BASE_URL)}([^)#]*)\)", text(api, SHORT)))
    assert len(found) > 10
    assert [path for path in found if not path.startswith(BUILT) and api.get(path).status_code != 200] == []


def test_it_begins_as_llmstxt_org_says(api: APIClient) -> None:
    title, blank, summary, *_ = text(api, SHORT).splitlines()
    assert (title, blank, summary[:2]) == ("# Agentpods", "", "> ")


def test_the_catalog_of_apis_is_a_linkset_whose_links_work(api: APIClient) -> None:
    answer = api.get("/.well-known/api-catalog")
    assert answer["Content-Type"].startswith("application/linkset+json; profile=")
    assert 'rel="api-catalog"' in api.head("/.well-known/api-catalog")["Link"]
    (entry,) = json.loads(answer.content)["linkset"]
    links = [link for name, named in entry.items() if name != "anchor" for link in named]
    for link in links:
        path = link["href"].removeprefix(settings.BASE_URL)
        if not path.startswith(BUILT):
            assert api.get(path)["Content-Type"].startswith(link["type"]), path
    assert entry["anchor"] == f"{settings.BASE_URL}/"


def test_the_mcp_server_is_named_in_the_text_and_in_the_catalog(api: APIClient) -> None:
    assert f"{settings.BASE_URL}/mcp," in text(api, SHORT)
    (entry,) = json.loads(api.get("/.well-known/api-catalog").content)["linkset"]
    (told,) = [one for one in entry["service-doc"] if "/mcp" in one.get("title", "")]
    assert told["href"] == f"{settings.BASE_URL}/guide/reference/mcp/"


def test_who_finds_a_fault_of_security_learns_where_to_report_it(api: APIClient) -> None:
    fields = dict(line.split(": ", 1) for line in text(api, "/.well-known/security.txt").splitlines())
    assert fields["Contact"].startswith("mailto:")
    left = datetime.fromisoformat(fields["Expires"]) - timezone.now()
    assert timedelta(days=170) < left < timedelta(days=365)
    assert fields["Canonical"].endswith("/.well-known/security.txt")
