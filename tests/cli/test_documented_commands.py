"""Every command of the documentation works on the files that `soffit demo --files` writes."""

from __future__ import annotations

import pytest
from tests.cli.documented import PAGES, ROOT, as_shown, shown_commands, shows
from typer.testing import CliRunner

from soffit.cli.app import make_app


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_prints_what_the_page_shows(soffit, page):
    soffit("demo", "--files")
    found = shown_commands((ROOT / page).read_text(encoding="utf-8"))
    assert found, f"{page} has no commands; is the pattern of this test still right?"
    for one in found:
        printed = soffit(*one.arguments).output
        if one.is_whole:
            # `python -m tests.cli.documented` writes the pages anew.
            assert shows(one.output, as_shown(printed)), f"{one.command} prints\n{printed}"


def test_the_questions_of_a_page_are_asked(soffit):
    text = (ROOT / "docs" / "asking.md").read_text(encoding="utf-8")
    (one,) = (found for found in shown_commands(text) if found.output.strip())
    soffit("demo", "--files")
    printed = CliRunner().invoke(make_app(), one.arguments, input="y\nq\n").output
    # A terminal shows what is typed, and its end of line.
    assert one.output.count("[q]uit: y\n") == 1
    typed = printed.replace("[q]uit: ", "[q]uit: y\n", 1)
    assert shows(one.output, as_shown(typed)), printed


def test_a_page_may_leave_lines_out_where_it_says_so() -> None:
    printed = "a\nb …\nc\nd\n"
    for page in (printed, "…\nc\nd\n", "a\n…\nd\n", "…\nb …\n…\n", "…\n"):
        assert shows(page, printed), page
    for page in ("c\nd\n", "a\nd\n", "…\nd\nc\n", "a\nb …\nd\n", "…\nc\n", "…\nx\n…\n"):
        assert not shows(page, printed), page


def test_files_are_written_to_a_new_folder(soffit, tmp_path):
    text = soffit("demo", "--files", "new/files").stdout
    names = {path.name for path in (tmp_path / "new" / "files").iterdir()}
    assert {"flowers.csv", "patients.csv", "messages.csv", "mails.csv", "distances.csv"} <= names
    assert all(name in text for name in names)
    assert not (tmp_path / "soffit_demo.html").exists()


def test_files_are_the_same_each_time(soffit, tmp_path):
    for folder in ("a", "b"):
        soffit("demo", "--files", folder)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_json_lists_the_files(answer):
    assert "flowers.csv" in answer("demo", "--files")["files"]


def test_a_folder_without_files_is_a_mistake(soffit):
    assert "--files" in soffit("demo", "somewhere", code=2).stderr


def test_a_file_is_not_a_folder(soffit, tmp_path):
    (tmp_path / "taken").write_text("x")
    text = soffit("demo", "--files", "taken", code=2).stderr
    assert "taken is a file" in text
