"""Each answer has a content security policy; in the admin only our own script files run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from tests.config.conftest import ROOT

TEMPLATES = sorted((ROOT / "templates" / "admin").rglob("*.html"))
INLINE = re.compile(r"<style|<script(?![^>]*\ssrc=)|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE)


def directives(policy: str) -> dict[str, str]:
    return dict(one.strip().partition(" ")[::2] for one in policy.split(";"))


@pytest.mark.parametrize("path", ["/admin/login/", "/admin/", "/admin/agents/agent/", "/admin/jsi18n/"])
def test_the_admin_runs_no_script_but_its_own_files(admin: Client, path: str) -> None:
    found = directives(admin.get(path)["Content-Security-Policy"])
    assert found["default-src"] == "'none'"
    assert (found["script-src"], found["style-src"], found["form-action"]) == ("'self'", "'self'", "'self'")
    assert (found["base-uri"], found["frame-ancestors"]) == ("'none'", "'none'")


@pytest.fixture
def admin(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com", "a-long-password"))
    return client


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: str(one.relative_to(ROOT)))
def test_no_page_of_the_admin_has_a_script_or_a_style_in_itself(template: Path) -> None:
    """The content policy would block inline scripts and styles."""
    assert not INLINE.search(template.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", ["/health", "/tiers", "/me", "/nothing", "/openapi.json", "/status"])
def test_data_and_failures_run_nothing(api: APIClient, path: str) -> None:
    found = directives(api.get(path)["Content-Security-Policy"])
    assert found["default-src"] == "'none'"
    assert "script-src" not in found
    assert found["frame-ancestors"] == "'none'"


def test_a_failure_where_people_look_runs_nothing(admin: Client) -> None:
    answer = admin.get("/admin/", headers={"host": "evil.example"})
    found = directives(answer["Content-Security-Policy"])
    assert (answer.status_code, found["default-src"], found["style-src"]) == (400, "'none'", "'unsafe-inline'")
    assert "script-src" not in found


def test_pages_keep_their_own(api: APIClient) -> None:
    found = directives(api.get("/docs")["Content-Security-Policy"])
    assert (found["default-src"], found["style-src"]) == ("'none'", "'self'")
    assert "script-src" not in found
    assert api.get("/docs")["Content-Security-Policy"].count("default-src") == 1
