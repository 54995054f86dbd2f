"""One budget of memory, from the machine, its limits, or the user."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soffit import SoftClustering, SpectralClustering, _memory
from soffit._memory import available_memory, check_allocation, check_memory, memory_budget
from soffit.datasets import make_gaussians

GIB = 2**30


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv("SOFFIT_MEMORY", raising=False)


def test_available_memory_is_positive_where_known():
    available = available_memory()
    assert available is None or available > 0


def test_small_allocation_passes():
    check_allocation((10, 10), np.float64, what="A test", remedy="None needed.")


@pytest.mark.skipif(available_memory() is None, reason="this system does not tell its memory")
def test_absurd_allocation_is_refused_with_its_name_and_remedy():
    with pytest.raises(MemoryError) as caught:
        check_allocation(
            (50_000_000, 50_000_000),
            np.float64,
            what="SoF with affinity='rbf'",
            remedy="Use affinity='nearest_neighbors'.",
        )
    message = str(caught.value)
    assert "SoF with affinity='rbf'" in message
    assert "Use affinity='nearest_neighbors'." in message
    assert "50,000,000 x 50,000,000" in message
    assert "SOFFIT_MEMORY" in message


@pytest.fixture
def one_gigabyte(monkeypatch):
    monkeypatch.setattr("soffit._memory.available_memory", lambda: GIB)


@pytest.mark.usefixtures("one_gigabyte")
def test_copies_and_item_size_count():
    shape = (2**13, 2**13)  # 256 MiB in float32
    check_allocation(shape, np.float32, what="A test", remedy="", copies=3)
    check_allocation(shape, np.float64, what="A test", remedy="", copies=1)
    for dtype, copies in ((np.float32, 4), (np.float64, 2)):
        with pytest.raises(MemoryError, match=r"only 859 MB can be used \(the variable SOFFIT_MEM"):
            check_allocation(shape, dtype, what="A test", remedy="", copies=copies)


@pytest.mark.usefixtures("one_gigabyte")
def test_sizes_beyond_64_bits_do_not_wrap_around():
    with pytest.raises(MemoryError):
        check_allocation((2**32, 2**32), np.float64, what="A test", remedy="")


def test_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr("soffit._memory.available_memory", lambda: None)
    check_allocation((2**32, 2**32), np.float64, what="A test", remedy="")


# --- the variable ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("1000", 1000),
        ("6GB", 6e9),
        (" 1.5 gb ", 1.5e9),
        ("500M", 5e8),
        ("2GiB", 2 * GIB),
        ("4kib", 4096),
    ],
)
def test_the_user_sets_the_budget(monkeypatch, text, n_bytes):
    monkeypatch.setenv("SOFFIT_MEMORY", text)
    assert memory_budget() == n_bytes
    with pytest.raises(MemoryError, match="SOFFIT_MEMORY"):
        check_memory(n_bytes + 1, what="A test", remedy="")
    check_memory(n_bytes, what="A test", remedy="")


@pytest.mark.parametrize("text", ["much", "-1", "1 XB", "1e9"])
def test_a_budget_that_is_no_size(monkeypatch, text):
    monkeypatch.setenv("SOFFIT_MEMORY", text)
    with pytest.raises(ValueError, match="SOFFIT_MEMORY must be a size such as 6GB"):
        memory_budget()


# --- limits of the system -------------------------------------------------------------------------


def _groups(monkeypatch, tmp_path: Path, listing: str, files: dict[str, str]) -> int | None:
    """What is left by control groups that look like this."""
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "listing").write_text(listing)
    whole = Path
    monkeypatch.setattr(_memory, "_CONTROL_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(
        _memory,
        "Path",
        lambda *parts: tmp_path / "listing" if parts == ("/proc/self/cgroup",) else whole(*parts),
    )
    return _memory._control_group_available()


def test_control_groups_of_version_1(monkeypatch, tmp_path):
    files = {
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/memory.usage_in_bytes": "5\n",
        "memory/docker/x/memory.limit_in_bytes": "1000\n",
        "memory/docker/x/memory.usage_in_bytes": "400\n",
        "memory/docker/x/memory.stat": "cache 300\ntotal_inactive_file 100\n",
    }
    assert _groups(monkeypatch, tmp_path, "4:memory:/docker/x\n0::/\n", files) == 700


def test_in_a_container_the_group_of_version_1_is_the_root(monkeypatch, tmp_path):
    files = {"memory/memory.limit_in_bytes": "1000", "memory/memory.usage_in_bytes": "250"}
    assert _groups(monkeypatch, tmp_path, "4:memory:/docker/not/visible\n", files) == 750


def test_the_tightest_group_of_version_2_counts(monkeypatch, tmp_path):
    files = {
        "memory.max": "max",
        "a/memory.max": "800",
        "a/memory.current": "100",
        "a/b/memory.max": "2000",
        "a/b/memory.current": "100",
    }
    assert _groups(monkeypatch, tmp_path, "0::/a/b\n", files) == 700


def test_no_control_groups(monkeypatch, tmp_path):
    assert _groups(monkeypatch, tmp_path, "", {}) is None


def test_a_limit_of_the_address_space_counts(monkeypatch):
    resource = pytest.importorskip("resource")
    size = 2**40
    monkeypatch.setattr(resource, "getrlimit", lambda _: (size, size))
    left = _memory._address_space_available()
    assert left is not None
    assert 0 < left < size


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [SoftClustering, SpectralClustering])
@pytest.mark.parametrize("given", ["rbf", "precomputed"])
def test_a_dense_fit_counts_its_working_copies_in_advance(monkeypatch, cls, given):
    X, _, _ = make_gaussians(200, n_clusters=2, random_state=3)
    table = X if given == "rbf" else np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    monkeypatch.setenv("SOFFIT_MEMORY", str(2 * 8 * 200**2))
    with pytest.raises(MemoryError, match=r"200 x 200 array \(.* with its working copies"):
        cls(2, affinity=given, random_state=3).fit(table)
