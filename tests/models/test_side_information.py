"""Must-link and cannot-link pairs in the flagship."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from soffit import SoftClustering
from soffit.affinity import NeighborGraph
from soffit.datasets import make_gaussians
from soffit.metrics import accuracy

COUNTS = (0, 200, 1000, 3000)


def random_pairs(y, pool, count, rng):
    """Pairs among the pool, sorted by what the labels say about them."""
    first, second = np.triu_indices(len(pool), 1)
    chosen = rng.choice(len(first), size=min(count, len(first)), replace=False)
    pairs = np.column_stack([pool[first[chosen]], pool[second[chosen]]])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return pairs[same], pairs[~same]


def share_kept(labels, must, cannot):
    kept = np.concatenate(
        [labels[must[:, 0]] == labels[must[:, 1]], labels[cannot[:, 0]] != labels[cannot[:, 1]]]
    )
    return kept.mean()


@pytest.fixture(scope="module")
def overlapping():
    return make_gaussians(240, n_clusters=3, separation=2.5, random_state=2203)


def test_pairs_never_lower_accuracy_on_untouched_iris():
    X, y = load_iris(return_X_y=True)
    scores = {count: [] for count in COUNTS}
    for seed in (4001, 4003, 4007, 4013, 4019):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        pool, untouched = np.sort(order[:100]), order[100:]
        for count in COUNTS:
            must, cannot = random_pairs(y, pool, count, rng)
            model = SoftClustering(3, random_state=3).fit(X, must_link=must, cannot_link=cannot)
            scores[count].append(accuracy(y[untouched], model.labels_[untouched]))
            if count:
                assert share_kept(model.labels_, must, cannot) > 0.99
    means = {count: np.mean(values) for count, values in scores.items()}
    # Up to one of the fifty objects: between two species the answer is a toss-up.
    assert all(means[count] >= means[0] - 0.02 for count in COUNTS)
    assert means[3000] >= 0.95


@pytest.mark.parametrize("storage", ["table", "sparse", "dense"])
def test_pairs_help_on_every_kind_of_input(overlapping, storage):
    X, y, _ = overlapping
    settings = {} if storage == "table" else {"affinity": "precomputed"}
    A = NeighborGraph().fit(X).matrix_
    data = {"table": X, "sparse": A, "dense": A.toarray()}[storage]
    rng = np.random.default_rng(509)
    pool = np.sort(rng.permutation(len(y))[:160])
    must, cannot = random_pairs(y, pool, 1500, rng)
    plain = SoftClustering(3, random_state=3, **settings).fit(data)
    told = SoftClustering(3, random_state=3, **settings).fit(
        data, must_link=must, cannot_link=cannot
    )
    assert share_kept(plain.labels_, must, cannot) < 0.95
    assert share_kept(told.labels_, must, cannot) > 0.99
    assert accuracy(y, told.labels_) > accuracy(y, plain.labels_) + 0.05
    np.testing.assert_allclose(told.memberships_.sum(axis=1), 1.0, atol=1e-6)
    assert np.array_equal(told.labels_, told.memberships_.argmax(axis=1))
    assert np.all(np.diff(told.objective_history_) <= 1e-9 * told.objective_history_[0])
    assert told.predict_proba(data[:9]).shape == (9, 3)


def test_without_pairs_nothing_changes(overlapping):
    X = overlapping.X
    plain = SoftClustering(3, random_state=3).fit(X)
    empty = SoftClustering(3, random_state=3).fit(X, must_link=[], cannot_link=None)
    assert plain.memberships_.tobytes() == empty.memberships_.tobytes()


def test_more_weight_is_more_obedience(overlapping):
    X, y, _ = overlapping
    rng = np.random.default_rng(83)
    # Random answers: nothing but obedience keeps them.
    must, cannot = random_pairs(rng.integers(3, size=len(y)), np.arange(len(y)), 150, rng)
    kept = [
        share_kept(
            SoftClustering(3, constraint_weight=w, random_state=3)
            .fit(X, must_link=must, cannot_link=cannot)
            .labels_,
            must,
            cannot,
        )
        for w in (0.001, 1.0)
    ]
    assert kept[0] + 0.1 < kept[1]


def test_transitivity_needs_fewer_pairs(overlapping):
    X, y, _ = overlapping
    chains = [np.flatnonzero(y == c) for c in range(3)]
    must = np.concatenate([np.column_stack([c[:-1], c[1:]]) for c in chains])
    cannot = [(chains[0][0], chains[1][0]), (chains[1][0], chains[2][0])]
    cannot.append((chains[0][0], chains[2][0]))
    model = SoftClustering(3, transitive=True, random_state=3)
    model.fit(X, must_link=must, cannot_link=cannot)
    assert accuracy(y, model.labels_) == 1.0


def test_an_unlinked_object_follows_its_partner():
    A = np.kron(np.eye(2), np.ones((10, 10))) - np.eye(20)
    A = sp.csr_array(np.pad(A, ((0, 1), (0, 1))))
    model = SoftClustering(2, affinity="precomputed", random_state=3)
    model.fit(A, must_link=[(20, 15)])
    assert model.labels_[20] == model.labels_[15]
    # No surer than a person who errs once in twenty times.
    assert 0.8 < model.memberships_[20].max() < 0.95


def test_contradictions_name_the_objects():
    nx = pytest.importorskip("networkx")
    graph = nx.karate_club_graph()
    graph = nx.relabel_nodes(graph, {0: "Mr. Hi", 33: "John A."})
    with pytest.raises(ValueError, match=r"\('Mr. Hi', '1'\)"):
        SoftClustering(2).fit(graph, must_link=[(0, 1)], cannot_link=[(1, 0)])


@pytest.mark.parametrize("weight", [0.0, 1.5, -1.0, "much"])
def test_side_weight_has_a_range(weight, overlapping):
    with pytest.raises(ValueError, match=r"constraint_weight must be a number above 0 and at most"):
        SoftClustering(3, constraint_weight=weight).fit(overlapping.X)


def test_pairs_pass_through_fit_predict(overlapping):
    X, y, _ = overlapping
    must, cannot = random_pairs(y, np.arange(len(y)), 300, np.random.default_rng(5))
    model = SoftClustering(3, random_state=3)
    labels = model.fit_predict(X, must_link=must, cannot_link=cannot)
    proba = model.fit_predict_proba(X, must_link=must, cannot_link=cannot)
    assert np.array_equal(labels, proba.argmax(axis=1))
    assert share_kept(labels, must, cannot) > 0.97


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(overlapping, dtype):
    X, y, _ = overlapping
    must, cannot = random_pairs(y, np.arange(len(y)), 100, np.random.default_rng(7))
    model = SoftClustering(3, random_state=3).fit(
        X.astype(dtype), must_link=must, cannot_link=cannot
    )
    assert model.memberships_.dtype == dtype


def test_a_wrong_answer_among_right_ones_is_outvoted_and_named(blobs):
    labels = SoftClustering(3, random_state=7).fit(blobs.X).labels_
    first, second = (np.flatnonzero(labels == cluster)[:8] for cluster in (0, 1))
    pairs = {
        "must_link": [*pairwise(first), *pairwise(second)],
        "cannot_link": [(a, b) for a, b in zip(first, second, strict=True) if a != first[3]],
    }
    honest = SoftClustering(3, random_state=7).fit(blobs.X, **pairs)
    assert honest.outvoted_.n_pairs == 0
    lie = sorted((int(first[3]), int(second[3])))
    pairs["must_link"] = [*pairs["must_link"], tuple(lie)]
    with pytest.warns(UserWarning, match="through other objects"):
        model = SoftClustering(3, random_state=7).fit(blobs.X, **pairs)
    assert model.outvoted_.must.tolist() == [lie]
    assert len(model.outvoted_.cannot) == 0
    assert np.array_equal(model.labels_, labels)
    assert SoftClustering(3, random_state=7).fit(blobs.X).outvoted_ is None


def test_names_of_rows_and_nodes(blobs):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(blobs.X, index=[f"row {i}" for i in range(len(blobs.X))])
    by_name = SoftClustering(3, random_state=7).fit(
        frame, must_link=[("row 3", "row 8")], cannot_link=[{"row 0", "row 1", "row 2"}]
    )
    by_number = SoftClustering(3, random_state=7).fit(
        blobs.X, must_link=[(3, 8)], cannot_link=[(0, 1), (0, 2), (1, 2)]
    )
    np.testing.assert_array_equal(by_name.memberships_, by_number.memberships_)
    assert by_name.side_information_.cannot.tolist() == [[0, 1], [0, 2], [1, 2]]
    nx = pytest.importorskip("networkx")
    graph = nx.relabel_nodes(nx.karate_club_graph(), {0: "Mr. Hi", 33: "John A."})
    model = SoftClustering(2, random_state=7).fit(
        graph, must_link=[("Mr. Hi", "8")], cannot_link=[("Mr. Hi", "John A.")]
    )
    nodes = model.object_names_.tolist()
    assert model.labels_[nodes.index("Mr. Hi")] == model.labels_[nodes.index(8)]


def test_suggested_names_can_be_passed_on(blobs):
    pd = pytest.importorskip("pandas")
    from soffit import suggest_pairs

    frame = pd.DataFrame(blobs.X, index=[f"row {i}" for i in range(len(blobs.X))])
    model = SoftClustering(3, random_state=7).fit(frame)
    numbers, names = suggest_pairs(model, 6), suggest_pairs(model, 6, names=True)
    assert names == [(f"row {a}", f"row {b}") for a, b in numbers]
    again = SoftClustering(3, random_state=7).fit(frame, cannot_link=names)
    assert again.side_information_.cannot.tolist() == sorted(numbers.tolist())
    # Names that are numbers come back as text, which is not read as a number.
    shifted = pd.DataFrame(blobs.X, index=np.arange(len(blobs.X)) + 1000)
    model = SoftClustering(3, random_state=7).fit(shifted)
    names = suggest_pairs(model, 6, names=True)
    assert names == [(str(a + 1000), str(b + 1000)) for a, b in numbers]
    again = SoftClustering(3, random_state=7).fit(shifted, cannot_link=names)
    assert again.side_information_.cannot.tolist() == sorted(numbers.tolist())
    unnamed = SoftClustering(3, random_state=7).fit(blobs.X)
    assert suggest_pairs(unnamed, 6, names=True) == [tuple(pair) for pair in numbers.tolist()]


def test_chains_of_contradictions_are_named(blobs):
    from soffit.exceptions import ContradictoryPairsWarning

    names = np.array([f"row {i}" for i in range(len(blobs.X))])
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(blobs.X, index=names)
    pairs = {
        "must_link": [
            ("row 0", "row 5"),
            ("row 5", "row 9"),
            ("row 9", "row 7"),
            ("row 0", "row 9"),
        ],
        "cannot_link": [("row 7", "row 0")],
    }
    chain = r"'row 0' - 'row 9' - 'row 7'\. "
    model = SoftClustering(3, random_state=7)
    with pytest.warns(ContradictoryPairsWarning, match=chain + "At least one") as caught:
        model.fit(frame, **pairs)
    assert caught[0].filename == __file__
    assert model.n_clusters_ == 3
    with pytest.raises(ValueError, match=chain + "Remove one"):
        SoftClustering(3, transitive=True, random_state=7).fit(frame, **pairs)
    # Subsamples repeat no warning.
    with pytest.warns(ContradictoryPairsWarning) as caught:
        SoftClustering(3, n_resamples=2, random_state=7).fit(frame, **pairs)
    assert len(caught) == 1


def test_many_chains_are_counted(blobs):
    from soffit.exceptions import ContradictoryPairsWarning

    group = list(range(12))
    apart = [(i, i + 2) for i in range(10)]
    with pytest.warns(ContradictoryPairsWarning, match=r"ends of these chains.*\(and 5 more\)"):
        SoftClustering(3, random_state=7).fit(
            blobs.X, must_link=[(i, i + 1) for i in group[:-1]], cannot_link=apart
        )
