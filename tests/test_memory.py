from __future__ import annotations

import numpy as np
import pytest

from soffit._memory import available_memory, check_allocation


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


@pytest.fixture
def one_gigabyte(monkeypatch):
    monkeypatch.setattr("soffit._memory.available_memory", lambda: 2**30)


@pytest.mark.usefixtures("one_gigabyte")
def test_copies_and_item_size_count():
    shape = (2**13, 2**13)  # 256 MiB in float32
    check_allocation(shape, np.float32, what="A test", remedy="", copies=3)
    check_allocation(shape, np.float64, what="A test", remedy="", copies=1)
    for dtype, copies in ((np.float32, 4), (np.float64, 2)):
        with pytest.raises(MemoryError, match=r"only 1\.0 GiB are available"):
            check_allocation(shape, dtype, what="A test", remedy="", copies=copies)


@pytest.mark.usefixtures("one_gigabyte")
def test_sizes_beyond_64_bits_do_not_wrap_around():
    with pytest.raises(MemoryError):
        check_allocation((2**32, 2**32), np.float64, what="A test", remedy="")


def test_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr("soffit._memory.available_memory", lambda: None)
    check_allocation((2**32, 2**32), np.float64, what="A test", remedy="")
