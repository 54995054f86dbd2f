"""Evidence for numbers of clusters."""

from __future__ import annotations

import numpy as np
import pytest

from soffit import SoftClustering
from soffit.figures import k_selection
from soffit.selection import choose_k


@pytest.fixture(scope="module")
def choice(table):
    return choose_k(table[0], ks=range(1, 7))


def test_every_column_is_shown(choice):
    figure = k_selection(choice)
    shown = {trace.name: trace for trace in figure.data if trace.name}
    hidden = {"k", "credibility", "edge"}
    for name in set(choice.table) - hidden:
        np.testing.assert_array_equal(shown[name].y, choice.table[name])
        np.testing.assert_array_equal(shown[name].x, choice.ks)
    np.testing.assert_array_equal(figure.data[0].y, choice.table["credibility"])
    assert figure.data[0].type == "bar"


def test_the_choice_and_the_runner_up_are_marked(choice):
    shapes = k_selection(choice).layout.shapes
    solid = {shape.x0 for shape in shapes if shape.line.dash == "solid"}
    dashed = {shape.x0 for shape in shapes if shape.line.dash == "dash"}
    assert solid == {choice.n_clusters}
    assert dashed == {choice.runner_up}
    assert len(shapes) == 2 * 10
    assert k_selection(choice).layout.title.text == f"Number of clusters: {choice.n_clusters}"


def test_a_model_that_chose(table):
    model = SoftClustering(None, random_state=67).fit(table[0])
    figure = k_selection(model)
    np.testing.assert_array_equal(figure.data[0].x, model.k_choice_.ks)


def test_one_number_has_no_runner_up(table):
    choice = choose_k(table[0], ks=[3])
    figure = k_selection(choice)
    assert "runner-up" not in figure.layout.title.subtitle.text
    assert len(figure.layout.shapes) == 10


def test_anything_else_is_refused(memberships):
    with pytest.raises(ValueError, match="must be a KChoice"):
        k_selection(memberships)
