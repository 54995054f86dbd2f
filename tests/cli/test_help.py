"""Help that a person can use, and the table of commands behind it."""

from __future__ import annotations

import pytest

import soffit as package
from soffit.cli.app import COMMANDS

EXPECTED = {
    *("fit", "ask", "predict", "report", "compare", "hierarchy"),
    *("segment", "graph", "info", "demo", "warmup"),
}


def test_every_command_of_the_issue_is_in_the_table():
    assert {command.name for command in COMMANDS} >= EXPECTED


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_of_a_command_shows_its_examples(soffit, command):
    text = soffit(command.name, "--help").stdout
    assert "Example" in text
    for example in command.examples:
        assert example.startswith(f"soffit {command.name}")
        assert example in text, "an example must fit on one line, to be copied"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_option_is_described_in_sentences(command):
    described = [
        argument.help
        for hint in _annotations(command.run)
        for argument in getattr(hint, "__metadata__", ())
    ]
    assert described
    for text in described:
        assert text[0].isupper(), text
        assert text.endswith("."), text


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_options_of_the_examples_exist(soffit, command):
    text = soffit(command.name, "--help").stdout
    for example in command.examples:
        for word in example.split():
            if word.startswith("-"):
                assert word in text


def test_help_of_the_whole_lists_every_command_and_a_start(soffit):
    text = soffit("--help").stdout
    assert all(command.name in text for command in COMMANDS)
    assert "soffit demo" in text


def test_no_arguments_show_help(soffit):
    assert "Usage: soffit" in soffit(code=None).output
    assert "Usage: soffit fit" in soffit("fit", code=None).output


def test_version(soffit):
    assert soffit("--version").stdout == f"soffit {package.__version__}\n"


def test_a_misspelt_command_is_bad_usage(soffit):
    assert "fit" in soffit("fti", code=2).output


def _annotations(function):
    from typing import get_type_hints

    hints = get_type_hints(function, include_extras=True)
    return [hint for name, hint in hints.items() if name != "return"]


@pytest.mark.parametrize("arguments", [(), ("sof-tables", "--runs", "5"), ("all", "--quick")])
def test_reproduce_says_where_it_went(soffit, arguments):
    result = soffit("reproduce", *arguments, code=2)
    assert "python -m reproduction" in result.output
    assert "reproduce" not in soffit("--help").stdout
