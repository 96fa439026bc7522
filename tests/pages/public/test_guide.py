"""/guide: the built documentation. The site of these tests is a small one of their own."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

SCRIPT = "start()"
HOME = f"<!doctype html><title>Guide</title><script>{SCRIPT}</script><p>Welcome</p>"


@pytest.fixture(autouse=True)
def site(tmp_path: Path, settings: Any) -> Path:
    site = tmp_path / "guide"
    (site / "tutorials" / "first").mkdir(parents=True)
    (site / "index.html").write_text(HOME)
    (site / "tutorials" / "first" / "index.html").write_text("<!doctype html><p>First</p>")
    (site / "search.json").write_text("{}")
    (site / "main.js").write_text("search()")
    (tmp_path / "secret.txt").write_text("hush")
    (tmp_path / "guide-secret.txt").write_text("hush")
    settings.GUIDE_ROOT = site
    return site


@pytest.mark.parametrize(
    ("path", "said", "kind"),
    [
        ("/guide/", "Welcome", "text/html; charset=utf-8"),
        ("/guide/tutorials/first/", "First", "text/html; charset=utf-8"),
        ("/guide/search.json", "{}", "application/json"),
        ("/guide/main.js", "search()", "javascript"),
    ],
)
def test_a_page_of_the_guide_and_its_files_are_shown(api: APIClient, path: str, said: str, kind: str) -> None:
    answer = api.get(path)
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert kind in answer["Content-Type"]


@pytest.mark.parametrize(
    ("path", "there"), [("/guide", "/guide/"), ("/guide/tutorials/first", "/guide/tutorials/first/")]
)
def test_an_address_without_its_slash_leads_to_the_page(api: APIClient, path: str, there: str) -> None:
    answer = api.get(path)
    assert (answer.status_code, answer["Location"]) == (302, there)


def test_only_scripts_of_the_page_itself_run_and_nobody_else_is_asked(api: APIClient) -> None:
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = api.get("/guide/")["Content-Security-Policy"]
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize(
    "path",
    [
        "/guide/nothing",
        "/guide/tutorials/",
        "/guide/../secret.txt",
        "/guide/%2e%2e/secret.txt",
        "/guide/..%2fguide-secret.txt",
        "/guide//etc/passwd",
        "/guide/a%00b",
        f"/guide/{'x' * 300}",
        f"/guide/{'x/' * 3000}",
        "/guide/index.html/x",
    ],
    ids=range(10),
)
def test_what_is_not_in_the_guide_is_told_as_a_page(api: APIClient, path: str) -> None:
    answer = api.get(path)
    assert answer.status_code == 404
    assert b"hush" not in answer.content


def test_a_link_out_of_the_guide_leads_nowhere(api: APIClient, site: Path) -> None:
    (site / "out.txt").symlink_to(site.parent / "secret.txt")
    assert api.get("/guide/out.txt").status_code == 404


def test_a_guide_that_is_not_built_is_not_found(api: APIClient, settings: Any, tmp_path: Path) -> None:
    settings.GUIDE_ROOT = tmp_path / "nowhere"
    assert api.get("/guide/").status_code == 404


def test_a_page_is_sent_once_and_again_when_it_was_built_anew(api: APIClient, site: Path) -> None:
    first = api.get("/guide/", HTTP_ACCEPT_ENCODING="gzip")
    assert first["Content-Encoding"] == "gzip"
    assert api.get("/guide/", HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 304
    (site / "index.html").write_text(f"{HOME}<p>News</p>")
    assert "News" in api.get("/guide/", HTTP_IF_NONE_MATCH=first["ETag"]).content.decode()


def test_no_other_method_is_taken(api: APIClient) -> None:
    assert api.post("/guide/").status_code == 405
