"""A file is replaced as a whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from soffit._atomic import replaced


def test_a_complete_file_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    path.write_text("old", encoding="utf-8")
    with replaced(path) as temporary:
        assert (temporary.parent, temporary.suffix) == (tmp_path, ".csv")
        temporary.write_text("new", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == "old"
    assert path.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "model.soffit"
    path.write_text("old", encoding="utf-8")

    def fail() -> None:
        with replaced(path) as temporary:
            temporary.write_text("half", encoding="utf-8")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"), replaced(tmp_path):
        pass


@pytest.mark.skipif(os.name == "nt", reason="links and permissions of POSIX")
def test_links_are_followed_and_permissions_are_the_usual_ones(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    with replaced(link) as temporary:
        temporary.write_text("new", encoding="utf-8")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    (tmp_path / "plain").touch()
    assert target.stat().st_mode == (tmp_path / "plain").stat().st_mode
