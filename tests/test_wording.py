"""Messages that mark parameters, and the errors that carry them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soffit import SoF
from soffit._parameters import ParameterError
from soffit._wording import _OPTIONS, Message, Parameter, in_words_of_the_command
from soffit.io import DataError, UnknownColumnError

names = st.sampled_from(sorted(_OPTIONS))
# Text of files: anything, and above all what looks like a parameter.
texts = st.one_of(st.text(), names, names.map(lambda name: f"{name}=3 `{name}` {name}.csv"))


def test_a_message_is_text_in_the_words_of_python() -> None:
    message = Message("Pass ", Parameter("kind", "graph"), " or ", Parameter("drop", ["a", 'b"c']))
    assert message == 'Pass kind="graph" or drop=["a", \'b"c\']'
    assert str(message) == message
    assert [parameter.name for parameter in message.parameters] == ["kind", "drop"]


def test_messages_within_messages_keep_their_parameters() -> None:
    inner = Message("pass ", Parameter("id"))
    joined = Message.joined(" ", ["If so,", inner, Message("or not.")])
    assert joined == "If so, pass id or not."
    assert joined.parameters == (Parameter("id"),)


@given(st.lists(st.one_of(texts, names.map(Parameter))))
def test_only_marked_parameters_are_replaced(parts: list[str | Parameter]) -> None:
    expected = "".join(p if isinstance(p, str) else _OPTIONS[p.name] for p in parts)
    assert in_words_of_the_command(Message(*parts)) == expected


@given(texts)
def test_unmarked_text_is_never_replaced(text: str) -> None:
    assert in_words_of_the_command(text) == text
    assert in_words_of_the_command(ValueError(text)) == text
    assert in_words_of_the_command(DataError(text)) == text


@pytest.mark.parametrize(
    ("parameter", "option"),
    [
        (Parameter("n_clusters", 3), "-k 3"),
        (Parameter("kind", "distances"), "--kind distances"),
        (Parameter("drop", ["a"]), "--drop a"),
        (Parameter("drop", ["my column", "b"]), "--drop 'my column,b'"),
        (Parameter("drop", ["a,b"]), "--drop '\"a,b\"'"),
        (Parameter("id", "$HOME"), "--id '$HOME'"),
        (Parameter("no_option", 3), "no_option=3"),
    ],
)
def test_options_are_written_as_one_types_them(parameter: Parameter, option: str) -> None:
    assert in_words_of_the_command(Message("Try ", parameter, ".")) == f"Try {option}."


def test_the_fields_of_an_error_about_data() -> None:
    remedy = Message("Pass ", Parameter("kind", "graph"), ".")
    error = DataError("kind.csv: it is square.", remedy)
    assert str(error) == 'kind.csv: it is square. Pass kind="graph".'
    assert (error.problem, error.parameter) == ("kind.csv: it is square.", "kind")
    assert error.remedy.parameters == remedy.parameters
    assert DataError("t.csv: the file is empty.").parameter is None


def test_an_invalid_parameter_has_fields() -> None:
    with pytest.raises(ParameterError, match=r"SoF: n_clusters must be .* got -1") as caught:
        SoF(-1).fit([[1.0], [2.0]])
    assert (caught.value.name, caught.value.value) == ("n_clusters", -1)
    assert in_words_of_the_command(caught.value).startswith("SoF: -k must be ")


@pytest.mark.parametrize(
    "error",
    [
        DataError(Message("x: ", Parameter("id")), "Do this."),
        UnknownColumnError("y"),
        ParameterError("tol", -1.0, "a number", "Pass another.", "SoF"),
    ],
)
def test_errors_survive_a_trip_to_another_process(error: ValueError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert in_words_of_the_command(again) == in_words_of_the_command(error)
