"""A file is replaced as a whole, or not at all."""

from __future__ import annotations

import os
import re
import stat
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


@pytest.mark.skipif(os.name == "nt", reason="links and permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o777])
def test_a_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "secret.csv"
    path.write_text("old", encoding="utf-8")
    path.chmod(mode)
    with replaced(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == mode
        temporary.write_text("new", encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with replaced(tmp_path / "pipe") as given:
        assert given == tmp_path / "pipe"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_an_error_names_the_file_that_the_user_knows(tmp_path: Path) -> None:
    path = tmp_path / "result.csv"

    def fail() -> None:
        with replaced(path):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device.*result\.csv"):
        fail()


def test_everything_is_written_through_it(repository: Path) -> None:
    """Whatever opens a file for writing in `src` has a new file in hand, or a temporary folder."""
    writes = re.compile(
        r"write_text|write_bytes|write_html|np\.savez|\.save\(|open\([^)]*[\"'][wxa][b+]?[\"']"
    )
    known = {
        "_atomic.py": 1,  # the file that replaces
        "cli/segment_command.py": 3,  # inside `replaced`
        "io/result_files.py": 5,  # inside `replaced`
        "app/view.py": 1,  # a message
        "cli/app.py": 1,  # the null device
        "cli/ask_command.py": 1,  # `session/files.py` writes
        "cli/demo_command.py": 4,  # inside `replaced`
        "distributed/shared_value.py": 1,  # a temporary folder
        "io/formats.py": 1,  # a temporary folder
        "persistence/model_file.py": 1,
        "persistence/archive.py": 1,  # a member of an open archive
        "report/write_report.py": 1,
        "scanpy.py": 1,  # a temporary folder
        "session/files.py": 2,  # inside `replaced`
    }
    found: dict[str, int] = {}
    source = repository / "src" / "soffit"
    for path in sorted(source.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        code = [line for line in lines if not line.lstrip().startswith((">>>", "...", "#"))]
        count = sum(bool(writes.search(line)) for line in code)
        if count:
            found[path.relative_to(source).as_posix()] = count
    assert found == known
