"""Large answers are stored in files. A process that dies before sending an answer leaves no file behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from config.serving.answer_files import LARGE_BYTES, AnswerFiles


def test_a_directory_is_made_with_the_first_file_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    files, large = AnswerFiles(), b"x" * LARGE_BYTES
    assert files.file_of(b"small") is None
    assert files.file_of(large) is None
    assert list(tmp_path.iterdir()) == []
    file = files.file_of(large)
    assert file is not None
    assert file.read_bytes() == large
    del files
    assert list(tmp_path.iterdir()) == []
