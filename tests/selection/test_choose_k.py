from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from tests.reference.problems import block_diagonal
from tests.reference.relations import planted_graph
from tests.reference.threads import printed_with_one_and_two_threads

from benchmarks.datasets import load
from soffit import SoftClustering
from soffit.affinity import Settings, make_affinity
from soffit.datasets import make_gaussians, make_moons
from soffit.selection import KChoice, choose_k, choose_k_of_graph
from soffit.selection.choice_model import _left_out, features
from soffit.selection.choose_k import evidence_of_range
from soffit.selection.density import Density

QUICK = {"ks": range(1, 6), "n_resamples": 1}
COLUMNS = ["k", "gap", "edge", "depth", "link_depth", "modularity", "bound", "cut", "smallest"]
COLUMNS += ["valley", "mixture", "dip"]


@pytest.fixture(scope="module")
def gaussians():
    return make_gaussians(400, n_clusters=4, separation=6.0, random_state=31).X


@pytest.fixture(scope="module")
def choice(gaussians) -> KChoice:
    return choose_k(gaussians, ks=range(1, 9))


@pytest.fixture(scope="module")
def resampled(gaussians) -> KChoice:
    return choose_k(gaussians, ks=range(1, 9), n_resamples=2)


@pytest.mark.parametrize(
    ("sizes", "seed"),
    [([60, 90, 120], 3), ([50, 60, 70, 80, 150], 5), ([60 + 10 * b for b in range(9)], 7)],
)
def test_planted_blocks_are_counted(sizes, seed):
    A, _ = planted_graph(sizes, seed, inside=12.0, outside=2.0)
    assert choose_k_of_graph(A, ks=range(1, 12), n_resamples=2).n_clusters == len(sizes)


@pytest.mark.parametrize(("n_clusters", "n_features"), [(2, 2), (3, 2), (5, 2), (3, 10), (7, 10)])
def test_gaussians_are_counted(n_clusters, n_features):
    sample = make_gaussians(
        700, n_clusters=n_clusters, n_features=n_features, separation=5.0, random_state=37
    )
    assert choose_k(sample.X, ks=range(1, 10), n_resamples=2).n_clusters == n_clusters


def test_moons_are_two():
    assert choose_k(make_moons(400, noise=0.08, random_state=41).X, n_resamples=2).n_clusters == 2


def test_a_random_graph_has_one_cluster():
    A, _ = planted_graph([500], 13, inside=12.0, outside=0.0)
    choice = choose_k_of_graph(A, ks=range(1, 12), n_resamples=2)
    assert choice.n_clusters == 1
    assert (choice.table["edge"][1:] <= 0).all()


@pytest.mark.parametrize(("n_features", "seed"), [(2, 43), (3, 47), (10, 53)])
def test_one_blob_is_one_cluster(n_features, seed):
    X = np.random.default_rng(seed).normal(size=(600, n_features))
    assert choose_k(X, n_resamples=2).n_clusters == 1


def test_separate_components_are_counted():
    A = block_diagonal([np.ones((25, 25)) - np.eye(25)] * 4)
    choice = choose_k_of_graph(A, ks=range(1, 9))
    assert choice.n_clusters == 4
    assert choice.table["valley"][3] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(choice.table["cut"][:4], 0, atol=1e-12)


def test_the_table_has_every_column_for_every_number(choice):
    assert list(choice.table) == [*COLUMNS, "score", "credibility"]
    np.testing.assert_array_equal(choice.ks, np.arange(1, 9))
    for column in choice.table.values():
        assert column.shape == (8,)
        assert np.isfinite(column).all()


def test_columns_keep_their_promises(choice):
    table = choice.table
    assert (np.diff(table["bound"]) >= 0).all()
    assert (table["cut"] >= table["bound"] - 1e-9).all()
    assert ((table["valley"] >= 0) & (table["valley"] <= 1)).all()
    assert (np.diff(table["depth"][1:]) <= 0).all()
    assert (table["link_depth"][1:] >= table["depth"][1:] - 1e-9).all()
    assert table["depth"][3] > 1 > table["depth"][4]
    assert table["smallest"][0] == 1
    assert ((table["smallest"] > 0) & (table["smallest"] <= 1)).all()
    assert table["modularity"][0] == pytest.approx(0)
    assert table["gap"].argmax() == 3
    np.testing.assert_allclose(table["credibility"].sum(), 1)


def test_resamples_add_columns_and_change_no_other(choice, resampled):
    table = resampled.table
    assert set(table) - set(choice.table) == {"stability", "likelihood"}
    for name, column in choice.table.items():
        np.testing.assert_array_equal(table[name], column)
    assert table["stability"][0] == 1
    assert (table["stability"] <= 1).all()
    assert table["likelihood"][0] == 0
    assert table["likelihood"][3] > table["likelihood"][1] > 0


def test_the_choice_follows_from_the_table(choice):
    order = np.argsort(-choice.table["score"])
    assert choice.n_clusters == choice.ks[order[0]] == 4
    assert choice.runner_up == choice.ks[order[1]]
    assert choice.confidence == choice.table["credibility"].max()
    assert 0 < choice.confidence <= 1


def test_clear_clusters_give_more_confidence(choice):
    X = make_gaussians(400, n_clusters=4, separation=2.5, random_state=31).X
    assert choose_k(X, ks=range(1, 9)).confidence < choice.confidence


def test_text_and_frame_show_the_table(choice):
    text = str(choice)
    assert text.startswith(
        f"4 clusters, confidence {choice.confidence:.2f}, runner-up {choice.runner_up}"
    )
    assert len(text.splitlines()) == 10
    assert next(line for line in text.splitlines() if line.endswith("<")).split()[0] == "4"
    frame = choice.to_pandas()
    assert frame.index.name == "k"
    assert list(frame.columns) == [*COLUMNS[1:], "score", "credibility"]


def test_the_same_input_gives_the_same_table(gaussians, choice):
    again = choose_k(gaussians, ks=range(1, 9), n_jobs=2)
    for name, column in choice.table.items():
        np.testing.assert_array_equal(column, again.table[name])


def test_numbers_left_out_do_not_matter_for_the_others(gaussians, choice):
    some = choose_k(gaussians, ks=[8, 4, 2, 4])
    np.testing.assert_array_equal(some.ks, [2, 4, 8])
    assert some.n_clusters == 4
    for name in [*COLUMNS, "score"]:
        np.testing.assert_array_equal(some.table[name], choice.table[name][[1, 3, 7]])


def test_one_number_has_no_runner_up(gaussians):
    choice = choose_k(gaussians, ks=[3])
    assert (choice.n_clusters, choice.runner_up, choice.confidence) == (3, None, 1.0)
    assert "runner-up" not in str(choice)


def test_dense_and_sparse_storage_agree():
    A, _ = planted_graph([40, 50, 60], 17)
    sparse, dense = (choose_k_of_graph(given, **QUICK) for given in (A, A.toarray()))
    for name, column in sparse.table.items():
        np.testing.assert_allclose(column, dense.table[name], atol=1e-9)


def test_input_is_left_alone_and_the_diagonal_does_not_count():
    A, _ = planted_graph([40, 50, 60], 17)
    dense = A.toarray()
    before = dense.copy()
    choice = choose_k_of_graph(dense, **QUICK)
    np.testing.assert_array_equal(dense, before)
    with_diagonal = choose_k_of_graph(dense + 3 * np.eye(len(dense)), **QUICK)
    np.testing.assert_array_equal(choice.table["score"], with_diagonal.table["score"])


def test_the_size_of_weights_does_not_matter():
    A, _ = planted_graph([40, 50, 60], 17)
    scores = [choose_k_of_graph(A * factor, **QUICK).table["score"] for factor in (1.0, 1024.0)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-6)


def test_input_kinds_agree(gaussians):
    import networkx as nx
    import polars as pl
    from scipy.spatial.distance import cdist

    frame = pl.DataFrame(gaussians, schema=["a", "b"])
    distances = cdist(gaussians, gaussians)
    A = make_affinity("nearest_neighbors", Settings(n_neighbors=15)).fit(gaussians).matrix_
    choice = choose_k(gaussians, **QUICK)
    np.testing.assert_allclose(choose_k(frame, **QUICK).table["score"], choice.table["score"])
    # The same graph without the distances that it was made of.
    graph = choose_k_of_graph(A, **QUICK)
    assert graph.n_clusters == choice.n_clusters == 4
    for other in (
        choose_k(A, affinity="precomputed", **QUICK),
        choose_k(nx.from_scipy_sparse_array(A), **QUICK),
    ):
        np.testing.assert_allclose(other.table["score"], graph.table["score"], atol=1e-6)
    assert choose_k(distances, metric="precomputed", **QUICK).n_clusters == 4
    assert choose_k(gaussians.astype(np.float32), **QUICK).n_clusters == 4


def test_columns_in_other_units_are_standardized(gaussians):
    noise = np.random.default_rng(59).normal(size=(len(gaussians), 1))
    X = np.hstack([gaussians, 1e5 * noise])
    assert choose_k(X, **QUICK).n_clusters == 4


def test_large_full_matrices_are_sampled():
    labels = np.repeat(np.arange(3), 500)
    rng = np.random.default_rng(61)
    A = np.where(labels[:, None] == labels, 1.0, 0.05) * rng.uniform(0.5, 1.0, (1500, 1500))
    assert choose_k_of_graph(A + A.T, ks=range(1, 4), n_resamples=1).n_clusters == 3


@pytest.mark.parametrize("n", [1, 2, 9, 12, 15])
def test_small_and_empty_graphs_have_one_cluster(n):
    for A in (np.zeros((n, n)), sp.csr_array((n, n)), np.ones((n, n))):
        choice = choose_k_of_graph(A)
        assert choice.n_clusters == 1
        everything = choose_k_of_graph(A, ks=range(1, n + 1))
        assert all(np.isfinite(column).all() for column in everything.table.values())


@pytest.mark.parametrize(
    ("ks", "message"),
    [
        ([], "ks is empty"),
        ([0, 2], "integers of at least 1, got 0"),
        ([2, 2.5], "integers of at least 1, got 2.5"),
        ([True], "integers of at least 1, got True"),
        ([2, 401], "401, which is larger than the number of objects, 400"),
    ],
)
def test_wrong_numbers_are_named(gaussians, ks, message):
    with pytest.raises(ValueError, match=message):
        choose_k(gaussians, ks=ks)


@pytest.mark.parametrize("resamples", [-1, 1.5, None])
def test_wrong_resamples_are_named(gaussians, resamples):
    with pytest.raises(ValueError, match="resamples must be an integer of at least 0"):
        choose_k(gaussians, n_resamples=resamples)


@pytest.mark.parametrize("most", [0, 2.5, True])
def test_a_wrong_largest_number_is_named(gaussians, most):
    with pytest.raises(ValueError, match="max_clusters must be an integer of at least 1"):
        choose_k(gaussians, max_clusters=most)


def test_unknown_affinities_and_gaps_are_named(gaussians):
    with pytest.raises(ValueError, match="affinity='near' is unknown"):
        choose_k(gaussians, affinity="near")
    with pytest.raises(ValueError, match="NaN"):
        choose_k(np.where(gaussians > 1, np.nan, gaussians))


def test_verbose_tells_phases_on_standard_error(gaussians, capsys):
    choose_k(gaussians, ks=[3, 4], n_resamples=1, verbose=1)
    said = capsys.readouterr()
    assert "affinities" in said.err
    assert "4 clusters" in said.err
    assert said.out == ""


def test_fringes_do_not_hide_the_clusters(data_home):
    # Small groups in sparse regions are all that the leading eigenvectors describe here.
    cells = load("pbmc68k_reduced", home=data_home)
    # Two groups of types are far apart; the types themselves are found if these are left out.
    assert abs(choose_k(cells.X, ks=range(4, 21)).n_clusters - cells.n_classes[0]) <= 1


def test_a_number_with_little_evidence_has_little_confidence(data_home):
    assert choose_k(load("pbmc68k_reduced", home=data_home).X).confidence < 0.5


# --- the range ------------------------------------------------------------------------------------


def blobs(n_clusters, size, seed):
    """Separate clusters on a grid, fifteen standard deviations apart."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(n_clusters)))
    centers = 15.0 * np.stack(np.divmod(np.arange(n_clusters), side), axis=1)
    return np.repeat(centers, size, axis=0) + rng.normal(size=(n_clusters * size, 2))


@pytest.mark.parametrize(("n_clusters", "size"), [(25, 20), (40, 30)])
def test_the_range_grows_while_the_evidence_does(n_clusters, size):
    choice = choose_k(blobs(n_clusters, size, 3))
    assert choice.n_clusters == n_clusters
    assert choice.ks[-1] > n_clusters


def test_the_range_ends_at_the_largest_number_allowed(gaussians):
    choice = choose_k(blobs(25, 20, 3), max_clusters=22)
    assert choice.ks[-1] == 22
    assert choose_k(gaussians, max_clusters=3).ks.tolist() == [1, 2, 3]
    assert choose_k(gaussians).ks[-1] == 20


def test_more_clusters_than_objects_are_not_considered():
    X = np.random.default_rng(5).normal(size=(30, 2))
    assert choose_k(X, max_clusters=1000).ks[-1] <= 30


# --- one cluster ----------------------------------------------------------------------------------


def drawn(kind, n, n_features, seed):
    rng = np.random.default_rng([seed, n, n_features])
    if kind == "uniform":
        return rng.random((n, n_features))
    if kind == "skewed":
        return rng.exponential(size=(n, n_features))
    return (
        rng.standard_t(3, (n, n_features)) if kind == "heavy" else rng.normal(size=(n, n_features))
    )


@pytest.mark.parametrize("n_features", [1, 2, 5, 20])
@pytest.mark.parametrize("kind", ["normal", "uniform", "skewed", "heavy"])
def test_one_cluster_of_any_shape_is_one(kind, n_features):
    right = [
        choose_k(drawn(kind, n, n_features, seed)).n_clusters == 1
        for n in (20, 50, 200, 1000)
        for seed in (7, 9)
    ]
    # 95 % are asked for; with eight draws one may be wrong.
    assert sum(right) >= 7


# --- networks -------------------------------------------------------------------------------------


def test_communities_of_known_networks_are_counted():
    import networkx as nx

    assert 5 <= choose_k(nx.les_miserables_graph()).n_clusters <= 8
    assert 2 <= choose_k(nx.karate_club_graph()).n_clusters <= 4


@pytest.mark.parametrize("seed", [3, 5])
def test_a_network_of_the_same_degrees_at_random_has_no_communities(seed):
    import networkx as nx

    degrees = [degree for _, degree in nx.karate_club_graph().degree]
    for random in (
        nx.Graph(nx.configuration_model(degrees, seed=seed)),
        nx.barabasi_albert_graph(200, 4, seed=seed),
    ):
        assert choose_k(random).n_clusters == 1


# --- few objects ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [*range(2, 20), 25, 33, 40])
def test_few_objects_get_an_answer(n):
    X = np.random.default_rng(n).normal(size=(n, 2))
    choice = choose_k(X)
    assert 1 <= choice.n_clusters <= n
    assert 0 < choice.confidence <= 1
    assert SoftClustering(None, random_state=3).fit(X).n_clusters_ == choice.n_clusters


@pytest.mark.parametrize(("n", "n_clusters"), [(8, 2), (9, 3), (12, 3), (16, 4), (20, 5)])
def test_a_few_objects_per_cluster_are_enough(n, n_clusters):
    center = 12 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0.5]])
    for seed in (3, 5, 7):
        noise = np.random.default_rng(seed).normal(size=(n, 2))
        choice = choose_k(center[np.arange(n) % n_clusters] + noise)
        assert choice.n_clusters == n_clusters


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 5])
def test_factors_behind_a_matrix_of_correlations_are_counted(n_clusters):
    rng = np.random.default_rng(11)
    factors = np.repeat(rng.normal(size=(n_clusters, 400)), 15 // n_clusters, axis=0)
    A = np.abs(np.corrcoef(factors + 0.8 * rng.normal(size=factors.shape)))
    assert choose_k(A, affinity="precomputed").n_clusters == n_clusters


# --- copies ---------------------------------------------------------------------------------------


def test_copies_do_not_change_the_number(gaussians):
    rounded = np.round(gaussians[:200], 1)
    once = choose_k(rounded, standardize=False)
    thrice = choose_k(np.repeat(rounded, 3, axis=0), standardize=False)
    for name, column in once.table.items():
        np.testing.assert_allclose(column, thrice.table[name], atol=1e-9)
    answers = np.random.default_rng(3).integers(1, 4, size=(500, 3))
    fitted = SoftClustering(None, random_state=3).fit(answers)
    assert choose_k(answers).n_clusters == fitted.n_clusters_


def test_more_clusters_than_distinct_objects_can_be_asked_for():
    X = np.repeat(np.random.default_rng(3).normal(size=(10, 2)), 3, axis=0)
    assert choose_k(X, ks=range(1, 21)).ks[-1] == 20


_THREADS = """
import hashlib
import numpy as np
from soffit import SoftClustering
from soffit.datasets import make_gaussians
from soffit.selection import choose_k
X = make_gaussians(400, n_clusters=4, separation=6.0, random_state=31).X
chosen = choose_k(X, ks=range(1, 7), n_resamples=5)
table = np.column_stack([np.asarray(column, dtype=float) for column in chosen.table.values()])
model = SoftClustering(None, random_state=3).fit(X)
print(chosen.n_clusters, model.n_clusters_, hashlib.sha256(table.tobytes()).hexdigest())
"""


def test_one_and_two_threads_choose_alike():
    """More resamples than threads, which begin threads of their own, once waited for each other."""
    (printed,) = printed_with_one_and_two_threads(_THREADS)
    assert printed.startswith("4 4 ")


def test_all_clear_modes_count_not_only_the_deepest():
    # Ten digits, some in two handwritings; one pair of modes is far deeper than the others.
    choice = choose_k(load_digits().data)
    assert 9 <= choice.n_clusters <= 15
    assert choice.table["depth"][1] > 1.2 * choice.table["depth"][2]


def test_modes_left_out_add_up():
    depth = np.array([0.0, 3.0, 2.0, 0.9, 0.0])
    left = _left_out(depth)
    assert left[0] == pytest.approx(np.log(3.3 / 1.3) + np.log(2.3 / 1.3))
    assert left[1] == pytest.approx(np.log(2.3 / 1.3))
    # The fourth mode is not clear, so that leaving it out costs nothing.
    np.testing.assert_allclose(left[2:], 0.0, atol=1e-12)


def test_clusters_far_apart_do_not_outweigh_those_inside_them(data_home):
    # Two groups of types are far apart. Without their dip 6 of 10 types were found.
    choice = choose_k(load("pbmc68k_reduced", home=data_home).X)
    assert abs(choice.n_clusters - 10) <= 1


def test_dips_are_features_of_a_number_and_of_the_one_before(gaussians):
    affinity = make_affinity("nearest_neighbors", settings=Settings()).fit(gaussians)
    evidence = evidence_of_range(affinity.matrix_, density=Density.of(affinity, gaussians))
    found = features(evidence)
    assert found["dip"][0] == 0.0
    np.testing.assert_array_equal(found["dip"][1:], found["next_dip"][:-1])
    assert found["dip"][3] < found["next_dip"][3]


def test_a_choice_among_larger_numbers():
    X, _, _ = make_gaussians(200, n_clusters=4, separation=8.0, random_state=7)
    choice = choose_k(X, ks=range(1, 9))
    assert choice.n_clusters == 4
    larger = choice.at_least(6)
    assert larger.n_clusters == 6 + int(np.argmax(choice.table["score"][5:]))
    assert larger.runner_up > 5
    assert larger.confidence == larger.table["credibility"].max()
    np.testing.assert_array_equal(larger.table["credibility"][:5], 0.0)
    np.testing.assert_allclose(larger.table["credibility"].sum(), 1.0)
    assert choice.at_least(1).n_clusters == 4
    assert choice.at_least(8).runner_up is None


def test_pairs_rule_out_numbers_that_are_too_small():
    X, labels, _ = make_gaussians(200, n_clusters=4, separation=2.0, random_state=7)
    alone = SoftClustering(None, random_state=0).fit(X)
    assert alone.n_clusters_ == 1
    four = [int(np.flatnonzero(labels == c)[0]) for c in range(4)]
    apart = [(a, b) for a in four for b in four if a < b]
    model = SoftClustering(None, random_state=0).fit(X, cannot_link=apart)
    assert model.n_clusters_ == model.k_choice_.n_clusters >= 4
    limited = SoftClustering(None, max_clusters=3, random_state=0).fit(X, cannot_link=apart)
    assert limited.n_clusters_ == 3


@pytest.mark.filterwarnings("ignore::soffit.exceptions.EmptyClusterWarning")
def test_pairs_may_need_more_clusters_than_are_considered_otherwise():
    X, _, _ = make_gaussians(200, n_clusters=4, separation=2.0, random_state=7)
    assert choose_k(X).ks[-1] < 22
    apart = [(a, b) for a in range(22) for b in range(a)]
    model = SoftClustering(None, random_state=0).fit(X, cannot_link=apart)
    assert model.k_choice_.n_clusters == 22
