"""Who may talk to the server, and what it answers."""

from __future__ import annotations

import json
import signal
import socket

import httpx
import numpy as np
import pytest

from soffit.app.server import HOST, listening, make_server
from soffit.app.view import Unknown, _pixels
from soffit.session.object_table import number_column

PORT, TOKEN = 8421, "secret-token"
ADDRESS = f"http://{HOST}:{PORT}"


@pytest.fixture
def client(view):
    transport = httpx.ASGITransport(app=make_server(view, TOKEN, PORT))
    return httpx.AsyncClient(transport=transport, base_url=ADDRESS)


def call(client, method, path, **options):
    import anyio

    async def send():
        async with client:
            return await client.request(method, path, **options)

    return anyio.run(send)


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        ("/", {}, 403),
        ("/?token=wrong", {}, 403),
        (f"/?token={TOKEN}", {}, 200),
        (f"/?token={TOKEN}", {"Host": "evil.example"}, 403),
        (f"/?token={TOKEN}", {"Host": f"evil.example:{PORT}"}, 403),
        (f"/?token={TOKEN}", {"Host": f"localhost:{PORT}"}, 200),
        (f"/?token={TOKEN}", {"Origin": "http://evil.example"}, 403),
        (f"/?token={TOKEN}", {"Origin": "null"}, 403),
        (f"/?token={TOKEN}", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("/get/state", {"X-Soffit-Token": TOKEN}, 200),
        ("/get/state", {"X-Soffit-Token": TOKEN, "Origin": ADDRESS}, 200),
        ("/get/nothing", {"X-Soffit-Token": TOKEN}, 404),
        ("/get/array?name=nothing", {"X-Soffit-Token": TOKEN}, 404),
        ("/file/model", {"X-Soffit-Token": TOKEN}, 404),
        ("/file/..%2fflowers.csv", {"X-Soffit-Token": TOKEN}, 404),
    ],
)
def test_only_the_own_page_is_answered(client, path, headers, code):
    assert call(client, "GET", path, headers=headers).status_code == code


def test_a_step_needs_the_token_in_a_header(client, view):
    body = {"a": 0, "b": 120, "answer": "apart"}
    refused = call(client, "POST", f"/do/answer?token={TOKEN}", json=body)
    assert refused.status_code == 403
    assert view.session.state.n_answers == 0


@pytest.mark.parametrize(
    ("step", "body", "code", "words"),
    [
        ("answer", b'{"a": 0, "b": 120, "answer": "apart"}', 200, "done"),
        ("answer", b'{"a": 0}', 400, "not complete"),
        ("answer", b'{"a": 0, "b": 999, "answer": "apart"}', 400, "no object 999"),
        ("answer", b"not json", 400, "error"),
        ("answer", b"[1]", 400, "JSON object"),
        ("split", b'{"cluster": 17}', 400, "no cluster 17"),
        ("merge", b'{"clusters": [0, 1], "version": 99}', 400, "just changed"),
        ("freeze", b'{"cluster": "x"}', 400, "no cluster"),
        ("clusters", b'{"n": 0}', 400, "between 1 and 150"),
        ("select", b'{"objects": [-3]}', 400, "not there"),
        ("export", b'{"what": ["/etc/passwd"]}', 400, "cannot be written"),
        ("nonsense", b"{}", 404, "no step"),
    ],
)
def test_steps_and_mistakes(client, step, body, code, words):
    answer = call(client, "POST", f"/do/{step}", content=body, headers={"X-Soffit-Token": TOKEN})
    assert answer.status_code == code
    assert words in answer.text
    json.loads(answer.text)


def test_the_page_runs_only_its_own_script(client):
    answer = call(client, "GET", f"/?token={TOKEN}")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert TOKEN not in answer.text
    assert "http://" not in answer.text.replace("http://www.w3.org", "")
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_the_address_answers_before_the_server_runs():
    with listening(0) as sock, socket.create_connection(sock.getsockname(), timeout=5) as client:
        assert client.getpeername() == sock.getsockname()


def test_a_used_port_is_explained():
    sock = listening(0)
    sock.listen()
    try:
        with pytest.raises(ValueError, match="--port"):
            listening(sock.getsockname()[1])
    finally:
        sock.close()


# --- what is shown --------------------------------------------------------------------------------


def test_arrays_have_one_entry_per_object(view):
    for name, kind, width in (("points", "<f4", 2), ("slots", "<u2", 1), ("column:0", "<f4", 1)):
        values = np.frombuffer(view.get("array", {"name": name}), dtype=kind)
        assert len(values) == 150 * width
        assert np.isfinite(values).all()


def test_rows_are_paged_sorted_searched_and_filtered(view):
    everything = view.get("rows", {"limit": "20", "sort": "petal_length", "descending": "1"})
    assert everything["total"] == 150
    assert len(everything["rows"]) == 20
    longest = everything["rows"][0]["values"]
    assert float(longest[2]) == 6.9
    assert view.get("rows", {"search": "f12"})["total"] == 10
    cluster = view.outcome.summary.labels[0]
    assert view.get("rows", {"cluster": str(cluster)})["total"] == 50
    view.do("select", {"objects": [3, 4, 140]})
    assert [row["row"] for row in view.get("rows", {"selected": "1"})["rows"]] == [3, 4, 140]
    assert view.get("rows", {"offset": "9999"})["offset"] == 149
    with pytest.raises(Unknown):
        view.get("object", {"row": "150"})


def test_the_state_is_json_without_surprises(view):
    state = view.get("state", {})
    json.dumps(state, allow_nan=False)
    assert state["k"] == 3
    assert sum(cluster["size"] for cluster in state["clusters"]) == 150
    assert {column["name"] for column in state["columns"] if not column["used"]} == {"species"}


def test_the_evidence_is_computed_when_it_is_asked_for(view):
    assert view.get("state", {})["evidence"] is None
    evidence = view.get("evidence", {})
    assert evidence["suggested"] in evidence["ks"]
    assert view.get("state", {})["evidence"] == evidence


def test_a_table_of_pixels_is_recognised():
    names = [f"pixel_{i}_{j}" for i in range(4) for j in range(4)]
    columns = [number_column(name, np.arange(3.0)) for name in names]
    assert _pixels(columns) == {"columns": list(range(16)), "side": 4, "largest": 2.0}
    assert _pixels(columns[:-1]) is None
    assert _pixels([number_column(f"size{i}", np.arange(3.0)) for i in range(16)]) is None


def test_pictures_named_in_the_data_are_served_and_nothing_else(view, tmp_path):
    with pytest.raises(Unknown):
        view.get("picture", {"row": "0", "column": "0"})
    with pytest.raises(Unknown):
        view.get("picture", {"row": "0", "column": "99"})


def test_ctrl_c_ends_the_app_without_an_error(running):
    with running("-k", 3) as app:
        assert httpx.get(app.address).status_code == 200
        app.process.send_signal(signal.SIGINT)
        assert app.process.wait(60) == 0
        assert "Error" not in app.process.stderr.read()
