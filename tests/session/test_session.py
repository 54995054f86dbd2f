"""A person answers, edits and changes their mind; the result is always that of the public API."""

from __future__ import annotations

import json

import numpy as np
import pytest

from soffit import SoftClustering, load
from soffit.io import DataError, read, read_pairs
from soffit.metrics import adjusted_rand
from soffit.session.session import BusyError


def answer_truthfully(session, truth, n):
    for _ in range(n):
        question = session.question()
        if question is None:
            return
        same = truth[question.a] == truth[question.b]
        session.answer(question.a, question.b, "together" if same else "apart")
        session.refit()


def test_answers_equal_a_plain_fit_with_them(start, truth):
    session, _ = start()
    before = adjusted_rand(truth, session.refit().model.labels_)
    answer_truthfully(session, truth, 12)
    model = session.outcome.model
    assert adjusted_rand(truth, model.labels_) >= before
    again = SoftClustering(3, random_state=0).fit(session.source, **session.state.fit_arguments())
    np.testing.assert_array_equal(model.memberships_, again.memberships_)


def test_undo_takes_back_answers_edits_and_numbers(start, truth):
    session, _ = start()
    first = session.refit().model.memberships_
    answer_truthfully(session, truth, 2)
    session.set_clusters(4)
    session.refit()
    session.rename(0, "first")
    session.refit()
    for _ in range(4):
        assert session.undo()
    assert not session.undo()
    np.testing.assert_array_equal(session.refit().model.memberships_, first)


def test_the_repeating_lines_give_the_same_result(start, truth, tmp_path, monkeypatch):
    session, folder = start()
    session.refit()
    answer_truthfully(session, truth, 4)
    session.merge([0, 1])
    session.refit()
    session.rename(0, "both, of 'them'")
    session.refit()
    session.split(1, 2)
    session.refit()
    folder.export(session, ["model", "memberships", "report"])
    scope: dict[str, object] = {}
    exec(folder.file("repeat.py").read_text(encoding="utf-8"), scope)
    model = session.outcome.model
    np.testing.assert_array_equal(scope["model"].memberships_, model.memberships_)
    np.testing.assert_array_equal(
        load(folder.file("model.soffit")).memberships_, model.memberships_
    )
    assert "both, of 'them'" in folder.file("memberships.csv").read_text(encoding="utf-8")
    assert folder.file("repeat.sh").read_text(encoding="utf-8").count("soffit edit") == 3


def test_edits_follow_their_clusters_through_a_refit(start, truth):
    session, _ = start()
    session.refit()
    setosa = int(session.outcome.model.labels_[0])
    session.rename(setosa, "setosa")
    session.refit()
    others = [c for c in range(3) if c != setosa]
    session.merge(others)
    session.refit()
    answer_truthfully(session, truth, 5)
    summary = session.outcome.summary
    assert session.outcome.model.n_clusters_ == 2
    assert summary.names[int(summary.labels[0])] == "setosa"


def test_edits_need_the_clusters_that_are_shown(start):
    session, _ = start()
    session.refit()
    session.answer(0, 120, "apart")
    with pytest.raises(BusyError, match="being fitted"):
        session.merge([0, 1])
    session.refit()
    with pytest.raises(ValueError, match="no cluster 9"):
        session.merge([0, 9])
    assert session.state.edits == ()


def test_a_killed_session_resumes_where_it_was(start, truth):
    session, _ = start()
    session.refit()
    answer_truthfully(session, truth, 3)
    session.rename(1, "two")
    session.refit()
    # Killed after an answer, before its refit.
    session.answer(3, 140, "apart")
    again, _ = start()
    assert again.state.key == session.state.key
    assert again.state.edits == session.state.edits
    assert [state.key for state in again.history] == [state.key for state in session.history]
    np.testing.assert_array_equal(
        again.refit().model.memberships_, session.refit().model.memberships_
    )
    assert again.outcome.summary.names == session.outcome.summary.names


def test_a_session_about_other_data_is_refused(start, flowers):
    session, folder = start()
    session.answer(0, 120, "apart")
    other = read(flowers, id="flower", drop=["species", "petal_width"])
    with pytest.raises(DataError, match="other data") as caught:
        folder.resume(other, SoftClustering(3, random_state=0), other.ids)
    assert "cannot_link" in str(caught.value)
    with pytest.raises(DataError, match="n_neighbors"):
        folder.resume(
            session.source, SoftClustering(3, n_neighbors=9, random_state=0), session.source.ids
        )


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1, "soffit": "x"}', "\x00"])
def test_a_damaged_session_is_reported(start, text):
    _, folder = start()
    folder.path.mkdir()
    folder.file("session.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"session\.json"):
        start()


def test_pairs_are_files_with_the_names_of_the_objects(start):
    session, folder = start()
    session.answer(0, 1, "together")
    session.together([2, 60, 61])
    session.answer(0, 120, "apart")
    ids = session.table.ids
    assert read_pairs(folder.file("must_link.csv"), ids) == [[0, 1], [2, 60, 61]]
    assert read_pairs(folder.file("cannot_link.csv"), ids).tolist() == [[0, 120]]
    session.undo()
    assert not folder.file("cannot_link.csv").exists()
    assert json.loads(folder.file("session.json").read_text(encoding="utf-8"))["format"] == 1


def test_wrong_answers_are_named(start, truth):
    session, _ = start()
    session.refit()
    answer_truthfully(session, truth, 10)
    session.answer(5, 130, "together")
    session.refit()
    assert (5, 130, "together") in [(d.a, d.b, d.answer) for d in session.disputed()]
    session.retract(5, 130)
    session.refit()
    assert (5, 130) not in [(d.a, d.b) for d in session.disputed()]


def test_a_frozen_cluster_stays(start, truth):
    session, _ = start()
    outcome = session.refit()
    cluster = int(outcome.model.labels_[0])
    members = outcome.model.labels_ == cluster
    session.freeze(cluster)
    session.set_clusters(4)
    labels = session.refit().model.labels_
    assert len(np.unique(labels[members])) == 1


def test_questions_end_and_skipped_ones_are_not_asked_again(start, truth):
    session, _ = start()
    session.refit()
    first = session.question()
    session.answer(first.a, first.b, "skip")
    session.refit()
    asked = set()
    for _ in range(80):
        question = session.question()
        if question is None:
            break
        asked.add((question.a, question.b))
        answer_truthfully(session, truth, 1)
    assert session.is_settled
    assert len(asked) < 80
    assert (first.a, first.b) not in asked
    assert adjusted_rand(truth, session.outcome.model.labels_) > 0.95


def test_what_changed_and_which_objects_moved(start):
    session, _ = start()
    before = session.refit()
    assert before.change is None
    session.merge([0, 1])
    after = session.refit()
    assert "2 clusters instead of 3" in after.change.sentence
    assert after.change.n_moved == after.change.moved.sum() > 0
    # Colours stay with their clusters.
    kept = [slot for slot in after.slots if slot in before.slots]
    assert len(kept) == 2


def test_answers_that_need_more_clusters_say_so(start):
    session, _ = start(2)
    session.refit()
    for a, b in ((0, 60), (0, 120), (60, 120)):
        session.answer(a, b, "apart")
    session.refit()
    assert "at least 3 clusters" in session.advice()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda s: s.answer(0, 0, "together"), "two different"),
        (lambda s: s.answer(0, 150, "together"), "no object 150"),
        (lambda s: s.answer(0, 1, "maybe"), "together, apart or skip"),
        (lambda s: s.together([3]), "two objects"),
        (lambda s: s.set_clusters(0), "between 1 and 150"),
    ],
)
def test_mistakes_are_explained(start, call, match):
    session, _ = start()
    with pytest.raises(ValueError, match=match):
        call(session)
    assert session.history == []
