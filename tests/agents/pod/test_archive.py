"""What a backup unpacks to: the agent's files below its directory. A hostile archive cannot name other places."""

from __future__ import annotations

import io
import stat
import tarfile
from pathlib import Path

import pytest

from agents.pod import archive

MOST = 10_000


def packed(*members: tuple[str, bytes | str | None], **of_all: int | str) -> io.BytesIO:
    """An archive. Bytes are files, a string is a link to that path, None is a directory."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.mode = 0o644
            for field, value in of_all.items():
                setattr(member, field, value)
            if content is None:
                member.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
            else:
                member.size = len(content)
            made.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
    stream.seek(0)
    return stream


def unpack(stream: io.BytesIO, into: Path) -> dict[str, str]:
    archive.unpack(stream, into, most_bytes=MOST)
    return {str(path.relative_to(into)): path.read_text() for path in into.rglob("*") if path.is_file()}


def test_files_come_back_and_copies_take_the_place_of_their_databases(tmp_path: Path) -> None:
    stream = packed(
        (".agentpods/", None),
        (".agentpods/databases/engine/state.db", b"whole"),
        (".agentpods/secret", b"ours"),
        ("engine/", None),
        ("engine/note", b"text"),
        ("link", "engine/note"),
    )
    assert unpack(stream, tmp_path) == {"engine/state.db": "whole", "engine/note": "text", "link": "text"}
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "a//b", "n" * 4_000])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(archive.InvalidArchive):
        unpack(packed((name, b"x")), tmp_path)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside, into = tmp_path / "outside", tmp_path / "into"
    outside.mkdir()
    into.mkdir()
    with pytest.raises(OSError, match="File exists"):
        unpack(packed(("d", str(outside)), ("d/x", b"x")), into)
    assert not list(outside.iterdir())


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        unpack(packed(("x", b"1"), ("x", b"2")), tmp_path)


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE])
def test_devices_pipes_and_hard_links_are_left_out(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("x")
    member.type, member.linkname = kind, "/etc/passwd"
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        made.addfile(member)
    stream.seek(0)
    assert unpack(stream, tmp_path) == {}
    assert not list(tmp_path.iterdir())


def test_rights_of_others_and_of_the_kernel_are_not_taken_over(tmp_path: Path) -> None:
    unpack(packed(("x", b"x"), mode=0o6755, uid=0, uname="root"), tmp_path)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) & 0o7000 == 0


def test_more_than_the_disk_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(archive.InvalidArchive, match="more than the 10000 bytes"):
        unpack(packed(("a", b"x" * 6_000), ("b", b"x" * 6_000)), tmp_path)


def test_a_stream_that_breaks_off_is_refused(tmp_path: Path) -> None:
    whole = packed(("a", b"x" * 6_000)).getvalue()
    with pytest.raises(archive.InvalidArchive, match="broken"):
        unpack(io.BytesIO(whole[:3_000]), tmp_path)


def test_what_is_packed_again_is_what_any_tar_opens(tmp_path: Path) -> None:
    packed_again = io.BytesIO()
    archive.repack(packed((".agentpods/databases/s.db", b"whole"), ("a/b", b"x"), ("l", "a/b")), packed_again)
    packed_again.seek(0)
    with tarfile.open(fileobj=packed_again, mode="r:gz") as opened:
        assert opened.getnames() == ["s.db", "a/b", "l"]
