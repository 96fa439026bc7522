"""Downloading the list of models: from a real server and from files, good and bad."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog import models_dev
from catalog.models_dev import SourceUnreadable
from tests.catalog.listed import document, model, provider
from tests.doubles.models_list import ModelsList

DOCUMENT = document(provider("openai", model("gpt-9", 1.36, 4.18)))


@pytest.fixture
def served() -> Iterator[ModelsList]:
    with ModelsList(DOCUMENT) as double:
        yield double


def test_a_list_is_fetched_and_its_numbers_are_exact(served: ModelsList) -> None:
    found = models_dev.read(served.url).models["openai"]["gpt-9"]
    assert (found.input_usd, found.output_usd) == (Decimal("1.36"), Decimal("4.18"))
    path, headers = served.asked[0]
    assert path == "/api.json"
    assert headers["User-Agent"] == models_dev.USER_AGENT


def test_a_compressed_list_is_read_too(served: ModelsList) -> None:
    served.compressed = True
    assert set(models_dev.read(served.url).models) == {"openai"}


def test_a_redirect_is_said_not_followed(served: ModelsList) -> None:
    served.status, served.headers = 302, {"Location": "http://169.254.169.254/latest"}
    with pytest.raises(SourceUnreadable, match=r"redirects to 'http://169\.254\.169\.254/latest'"):
        models_dev.read(served.url)
    assert len(served.asked) == 1


@pytest.mark.parametrize("status", [204, 404, 500])
def test_another_status_than_200_is_no_list(served: ModelsList, status: int) -> None:
    served.status = status
    with pytest.raises(SourceUnreadable, match=f"HTTP {status}"):
        models_dev.read(served.url)


def test_a_list_that_breaks_off_is_not_half_used(served: ModelsList) -> None:
    served.promised = 1000
    with pytest.raises(SourceUnreadable, match="cannot fetch the list"):
        models_dev.read(served.url)


def test_a_list_that_unpacks_to_too_much_is_given_up(served: ModelsList, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models_dev, "LARGEST_BYTES", 2**20)
    served.body, served.compressed = b" " * (2**20 + 1), True
    with pytest.raises(SourceUnreadable, match="larger than 1 MiB"):
        models_dev.read(served.url)


def test_nobody_there_is_said() -> None:
    with ModelsList({}) as gone:
        url = gone.url
    with pytest.raises(SourceUnreadable, match="cannot fetch the list: ConnectionError"):
        models_dev.read(url)


@pytest.mark.parametrize("address", ["ftp://example.com/api.json", "file:///etc/passwd", "https://", "http://[oops/"])
def test_an_address_that_is_none_is_said(address: str) -> None:
    with pytest.raises(SourceUnreadable):
        models_dev.read(address)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "api.json"
    path.write_text("\ufeff" + json.dumps(DOCUMENT), encoding="utf-8")
    assert set(models_dev.read(str(path)).models) == {"openai"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not JSON"),
        (b"<html>", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"openai": ' + b"9" * 10_000 + b"}", "no usable model"),
        (b"[]", "no usable model"),
        (b'{"cloudburst": {"models": {}}}', r"list.json has no usable model of any provider: is it models.dev's"),
    ],
)
def test_a_file_that_is_no_list_is_said(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(content)
    with pytest.raises(SourceUnreadable, match=complaint):
        models_dev.read(str(path))


@pytest.mark.parametrize("path", ["", "/nowhere/api.json", "/", "nul\0l"])
def test_a_file_that_cannot_be_read_is_said(path: str) -> None:
    with pytest.raises(SourceUnreadable, match="cannot read the file"):
        models_dev.read(path)


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,0123456789eE.-openaimodels ', max_size=80).map(str.encode))
def test_no_file_can_crash_the_reading(content: bytes) -> None:
    with NamedTemporaryFile() as file:
        for body in (content, b'{"openai": {"models": {"gpt-9": ' + content + b"}}}"):
            Path(file.name).write_bytes(body)
            with pytest.raises(SourceUnreadable):
                models_dev.read(file.name)


@pytest.mark.parametrize("number", ["1e999999999", "-1e999999999", "1e" + "9" * 30, "9" * 100_000, "NaN", "Infinity"])
def test_a_number_beyond_all_bounds_is_refused_in_no_time(tmp_path: Path, number: str) -> None:
    path = tmp_path / "api.json"
    listed = provider("openai", model("gpt-8", 1, 2), model("gpt-9", "PRICE", 2))
    path.write_text(json.dumps(document(listed)).replace('"PRICE"', number), encoding="utf-8")
    found = models_dev.read(str(path))
    assert set(found.models["openai"]) == {"gpt-8"}
    assert len(found.problems) == 1


@pytest.mark.parametrize("number", ["0e999999999", "1e-999999999", "0.00001"])
def test_a_number_too_small_to_hold_is_nothing(tmp_path: Path, number: str) -> None:
    path = tmp_path / "api.json"
    listed = provider("openai", model("gpt-9", "PRICE", 2))
    path.write_text(json.dumps(document(listed)).replace('"PRICE"', number), encoding="utf-8")
    assert models_dev.read(str(path)).models["openai"]["gpt-9"].input_usd == 0


def test_a_source_is_remembered_without_its_password() -> None:
    assert models_dev.label_of("https://user:secret@models.example/api.json?key=1") == "models.example"
    assert models_dev.label_of("/some/where/api.json") == "api.json"
