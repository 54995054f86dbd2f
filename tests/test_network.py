"""Tests cannot reach the network; what runs on this machine they can."""

from __future__ import annotations

import socket
from typing import Any
from urllib.request import urlopen

import pytest

# Of a range that no host has.
NOWHERE = "192.0.2.1"


@pytest.fixture
def closed() -> Any:
    return pytest.raises(pytest.fail.Exception, match="tests never use the network")


def test_connections_are_refused(closed):
    with closed:
        socket.create_connection((NOWHERE, 80), timeout=1)


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_sockets_are_refused(closed, method):
    with socket.socket() as end, closed:
        end.settimeout(1)
        getattr(end, method)((NOWHERE, 80))


def test_datagrams_are_refused(closed):
    with socket.socket(type=socket.SOCK_DGRAM) as end, closed:
        end.sendto(b"", (NOWHERE, 9))


def test_names_are_not_looked_up(closed):
    with closed:
        urlopen("https://www.openml.org", timeout=1)


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_this_machine_is_reached(host, server):
    with socket.create_connection((host, server.getsockname()[1]), timeout=5) as end:
        assert end.getpeername() == server.getsockname()
