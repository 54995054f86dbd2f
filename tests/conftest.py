"""What all tests share: the folder of real data, no network, and reproducible property tests."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# No deadline: compiling a kernel on first use takes seconds. Derandomized and without a database:
# a run depends on nothing but the code.
settings.register_profile(
    "soffit", deadline=None, derandomize=True, max_examples=40, database=None, print_blob=True
)
settings.load_profile("soffit")

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that holds pyproject.toml."""
    return REPOSITORY


# --- real data ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of real data sets: $SOFFIT_DATA, or shared/data beside the repository.

    Tests that use it have the marker `data`. Without the folder they are skipped; if
    $SOFFIT_REQUIRE_DATA is 1, they fail.
    """
    folder = Path(os.environ.get("SOFFIT_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        missing = f"no data sets in {folder}; set SOFFIT_DATA to the folder that holds them"
        if os.environ.get("SOFFIT_REQUIRE_DATA", "0") not in ("", "0"):
            pytest.fail(f"{missing} (SOFFIT_REQUIRE_DATA is set)")
        pytest.skip(missing)
    return folder


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the data, before `-m data` chooses."""
    for item in items:
        if "data_home" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


# --- sizes ----------------------------------------------------------------------------------------

# Sizes up to which the library works in one way and beyond which in another, and those of the
# pieces that it works on. Tests of both ways name them here and nowhere else.
LIMITS = {
    "block_entries": "soffit._threads._BLOCK_ENTRIES",
    "moment_rows": "soffit.affinity.given_objects._ROWS",
    "links_compared": "soffit.affinity.neighbor_graph._COMPARED",
    "links_ranked": "soffit.affinity.neighbor_graph._LINKED_ENTRIES",
    "link_values": "soffit.affinity.neighbor_graph._PLAIN",
    "list_comparisons": "soffit.affinity.neighbor_graph._FEW_COMPARISONS",
    "exact_components": "soffit.affinity.neighbor_graph._MOST_EXACT_COMPONENTS",
    "exact_coordinates": "soffit.affinity.neighbor_graph._MOST_EXACT_COORDINATES",
    "link_turns": "soffit.affinity.neighbor_graph._MOST_TURNS",
    "link_sample": "soffit.affinity.neighbor_graph._SAMPLED",
    "affinity_walk_entries": "soffit.affinity.walks._PIECE_ENTRIES",
    "micro_piece": "soffit.distributed.micro_groups._PIECE",
    "divergence_objects": "soffit.factorize.divergence.relations._LARGE",
    "support_rows": "soffit.factorize.divergence.sparse_rows._ROWS",
    "nonnegative_rows": "soffit.factorize.nonnegative.sweeps._BLOCK",
    "product_entries": "soffit.factorize.problem._ENTRIES",
    "entries_per_row": "soffit.factorize.simplex.few_entries._MOST",
    "sparse_simplex_range": "soffit.factorize.simplex.few_entries._RANGE",
    "simplex_at_once": "soffit.factorize.simplex.rows._AT_ONCE",
    "simplex_clusters": "soffit.factorize.simplex.rows._FEW_CLUSTERS",
    "simplex_range": "soffit.factorize.simplex.rows._RANGE",
    "graph_entries": "soffit.graph._FEW",
    "graph_rows": "soffit.graph._ROWS",
    "table_entries": "soffit.io.tables.typed._BLOCK_ENTRIES",
    "answers_objects": "soffit.memberships.answers._MANY",
    "walk_columns": "soffit.memberships.calibration._COLUMNS",
    "walk_objects": "soffit.memberships.calibration._MANY_OBJECTS",
    "em_entries": "soffit.memberships.em_steps._FEW_ENTRIES",
    "wide_columns": "soffit.neighbors.approximate._MANY_COLUMNS",
    "approximate_range": "soffit.neighbors.approximate._RANGE",
    "tree_columns": "soffit.neighbors.search._EXACT_TREE_COLUMNS",
    "compared_objects": "soffit.neighbors.search._MOST_COMPARED",
    "direct_few": "soffit.partition.candidates._FEW_DIRECT",
    "direct_nodes": "soffit.partition.candidates._MOST_DIRECT",
    "graph_nodes": "soffit.partition.candidates._MOST_NODES",
    "vectors": "soffit.partition.candidates._MOST_VECTORS",
    "nodes_per_cluster": "soffit.partition.candidates._NODES_PER_SWEPT_CLUSTER",
    "dense_eigenvectors": "soffit.partition.eigenvectors._DENSE",
    "dense_of_sparse": "soffit.partition.eigenvectors._DENSE_OF_SPARSE",
    "eigenvector_edges": "soffit.partition.eigenvectors._MANY_EDGES",
    "eigenvector_rows": "soffit.partition.eigenvectors._ROWS",
    "sweep_rows": "soffit.partition.label_sweeps._ROWS",
    "kmeans_entries": "soffit.partition.rounding._FEW",
    "described_rows": "soffit.results.differences._ROWS_AT_ONCE",
}


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that sets some of these sizes for one test, such as ``limits(graph_rows=17)``."""

    def set_limits(**sizes: Any) -> None:
        for name, size in sizes.items():
            monkeypatch.setattr(LIMITS[name], size)

    return set_limits


# --- network --------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Close the network to this process: for tests, for doctests, and for imports of both.

    A fixture would begin too late for the last and leave out the examples in `src`. Processes that
    tests start are not covered.
    """
    patch = pytest.MonkeyPatch()
    for name in ("connect", "connect_ex", "sendto"):
        patch.setattr(socket.socket, name, _local_method(getattr(socket.socket, name)))
    patch.setattr(socket, "getaddrinfo", _local_lookup(socket.getaddrinfo))
    config.add_cleanup(patch.undo)


def _local_method(method: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, *arguments: Any) -> Any:
        # The address comes last; only those of the internet protocols have a host.
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse_unless_local(arguments[-1][0])
        return method(self, *arguments)

    return guarded


def _local_lookup(lookup: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(host: Any, *arguments: Any, **options: Any) -> Any:
        _refuse_unless_local(host)
        return lookup(host, *arguments, **options)

    return guarded


def _refuse_unless_local(host: Any) -> None:
    """Fail the test; code under test that expects network errors cannot catch this one."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return
    try:
        local = ip_address(name).is_loopback
    except ValueError:
        local = False
    if not local:
        pytest.fail(
            f"this test tried to reach {name}, but tests never use the network: make the data in "
            "the test, take a set that scikit-learn ships, or use the fixture data_home"
        )
