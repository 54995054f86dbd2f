"""States and edits as plain values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit import SoftClustering
from soffit.datasets import make_gaussians
from soffit.session.answers_and_edits import Edit, State, counterparts, edits_of, renumbered


def test_an_answer_replaces_an_earlier_one_about_the_same_pair():
    state = State(3).answered(4, 2, "together").answered(2, 4, "apart")
    assert state.together == ()
    assert state.apart == ((2, 4),)
    assert state.answered(2, 4, "skip").n_answers == 0


def test_pairs_become_arguments_of_fit():
    state = State(2).answered(1, 0, "together").grouped([5, 6, 5, 7], apart_from=[0])
    assert state.fit_arguments() == {
        "must_link": [[0, 1], [5, 6, 7]],
        "cannot_link": [[0, 5]],
    }
    assert State(2).fit_arguments() == {}


def test_objects_that_all_differ_need_as_many_clusters():
    state = State(2)
    assert state.needed_clusters(9) == 1
    for a, b in ((0, 1), (0, 2), (1, 2)):
        state = state.answered(a, b, "apart")
    assert state.needed_clusters(9) == 3
    # 3 is together with 0, so that the pairs of 3 are those of 0.
    state = state.answered(0, 3, "together")
    for other in (4, 1, 2):
        state = state.answered(3, other, "apart")
    for other in (1, 2):
        state = state.answered(4, other, "apart")
    assert state.needed_clusters(9) == 4


def test_edits_are_read_from_a_model():
    X, _, _ = make_gaussians(120, n_clusters=4, random_state=7)
    model = SoftClustering(4, random_state=7).fit(X)
    edited = model.merge([0, 2]).split(1, n=2).rename({0: "both"})
    edits = edits_of(edited.curation_)
    assert [edit.kind for edit in edits] == ["merge", "split", "rename"]
    again = model
    for edit in edits:
        again = edit.apply(again)
    np.testing.assert_array_equal(again.memberships_, edited.memberships_)
    assert edits_of(["update(X_new)", "merge([0, 1])"]) == ()


def test_clusters_are_matched_by_their_objects():
    former, new = np.array([0, 0, 1, 1, 2]), np.array([2, 2, 0, 0, 1])
    assert counterparts(former, new) == [2, 0, 1]
    assert counterparts(np.array([0, 0, 1, 1, 2]), np.array([1, 1, 0, 0, 0])) == [1, 0, None]


def test_names_survive_another_number_of_clusters_and_merges_do_not():
    edits = (Edit("merge", (0, 2)), Edit("rename", (1,), "b"), Edit("rename", (0,), "both"))
    assert renumbered(edits, [1, 0, None], 2) == (Edit("rename", (0,), "b"),)


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(5)), st.data())
def test_renumbered_edits_do_the_same_to_the_same_clusters(order, data):
    """Replayed on labelled clusters: whatever the numbers, the same sets of clusters result."""
    k, edits = 5, []
    for _ in range(4):
        kind = data.draw(st.sampled_from(["merge", "split", "rename"]))
        if kind == "merge" and k > 2:
            a = data.draw(st.integers(0, k - 2))
            b = data.draw(st.integers(a + 1, k - 1))
            edits.append(Edit("merge", (a, b)))
            k -= 1
        elif kind == "split":
            edits.append(Edit("split", (data.draw(st.integers(0, k - 1)),), 2))
            k += 1
        else:
            edits.append(Edit("rename", (data.draw(st.integers(0, k - 1)),), "x"))
    moved = renumbered(edits, list(order), 5)
    former = [frozenset([identity]) for identity in range(5)]
    new = [frozenset([order.index(number)]) for number in range(5)]
    assert _replayed(former, edits) == _replayed(new, moved)


def _replayed(clusters, edits):
    """The clusters as sets, with names; parts of a split are told apart by their rank."""
    clusters, named = list(clusters), set()
    for step, edit in enumerate(edits):
        who = [clusters[number] for number in edit.clusters]
        if edit.kind == "merge":
            clusters[edit.clusters[0]] = frozenset().union(*who)
            for number in reversed(edit.clusters[1:]):
                del clusters[number]
        elif edit.kind == "split":
            clusters[edit.clusters[0]] = frozenset([(who[0], step, 0)])
            clusters.append(frozenset([(who[0], step, 1)]))
        else:
            named.add((who[0], step))
    return set(clusters), named


@pytest.mark.parametrize(
    ("edit", "options"),
    [
        (Edit("merge", (0, 2)), ["--merge", "0,2"]),
        (Edit("split", (1,), 3), ["--split", "1:3"]),
        (Edit("rename", (1,), "tall ones"), ["--name", "1=tall ones"]),
    ],
)
def test_edits_are_options_of_the_command(edit, options):
    assert edit.command() == options
