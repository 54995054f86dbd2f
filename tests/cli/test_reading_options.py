"""Files as people have them: options for reading, the user's own table as output."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.cli.csv_files import rows_of
from tests.cli.test_process import environment, run


@pytest.fixture
def shop(tmp_path):
    """Two groups of articles, with numbers that only the user can tell how to read."""
    rng = np.random.default_rng(1301)
    lines = ["exported by hand", "name;price;weight"]
    for i in range(40):
        price = int(rng.integers(1_001, 1_100)) + 5_000 * (i % 2)
        grams = int(rng.integers(100, 110)) + 400 * (i % 2)
        lines.append(f"n{i};{price // 1000}.{price % 1000:03d};{'unknown' if i == 3 else grams}")
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


OPTIONS = ("--skip-rows", 1, "--thousands", ".", "--na", "unknown", "--impute", "median")


def test_the_messages_lead_to_the_options(soffit, shop):
    assert "--skip-rows 1" in soffit("fit", shop, code=1).stderr
    text = soffit("fit", shop, "--skip-rows", 1, code=1).stderr
    assert "--decimal . or --thousands ." in text
    text = soffit("fit", shop, *OPTIONS[:4], code=1).stderr
    assert "--na unknown" in text


def test_every_command_that_reads_data_takes_them(soffit, answer, shop, tmp_path):
    model, out, page = tmp_path / "m.soffit", tmp_path / "out.csv", tmp_path / "page.html"
    made = soffit("fit", shop, "-k", 2, *OPTIONS, "--save", model, "-o", out, "--report", page)
    assert "Thousands are separated by points in 'price'" in made.stderr
    rows = rows_of(out, ";")
    assert [row["name"] for row in rows] == [f"n{i}" for i in range(40)]
    assert rows[3]["weight"] == "unknown"
    labels = [row["cluster"] for row in rows]
    assert labels == [labels[0], labels[1]] * 20
    assert "skip_rows=1" in page.read_text(encoding="utf-8")
    assert "thousands=&#x27;.&#x27;" in page.read_text(encoding="utf-8")
    found = answer("predict", model, shop, *OPTIONS, "-o", tmp_path / "new.csv")
    assert found["n_objects"] == 40
    assert [row["cluster"] for row in rows_of(tmp_path / "new.csv", ";")] == labels
    told = answer("info", shop, *OPTIONS[:6])
    assert {column["name"]: column["largest"] for column in told["columns"]}["price"] > 5_000
    soffit("report", out, "--data", shop, *OPTIONS, "-o", tmp_path / "again.html")
    soffit("compare", shop, "-k", 2, *OPTIONS, "--only", "soft,sklearn-kmeans")
    soffit("hierarchy", shop, "--levels", "4,2", *OPTIONS)


def test_graphs_take_them(answer, tmp_path):
    lines = ["a;b;w", *(f"{g}{i};{g}{j};1,5" for g in "uv" for i in range(8) for j in range(i))]
    (tmp_path / "g.csv").write_text("\n".join(["notes", *lines, "u0;v0;0,1"]) + "\n")
    found = answer("graph", tmp_path / "g.csv", "--skip-rows", 1, "--sep", ";", "-k", 2)
    assert sorted(cluster["size"] for cluster in found["clusters"]) == [8, 8]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--decimal", "x"), "--decimal must be one of"),
        (("--sep", "::"), "--sep must be one character"),
        (("--encoding", "klingon"), "--encoding must be a name"),
        (("--only-memberships",), "needs an output file"),
    ],
)
def test_mistakes_are_usage_errors(soffit, flowers, options, message):
    text = soffit("fit", flowers, "-k", 3, *options, code=2).output
    assert message in " ".join(text.replace("│", " ").split())


def test_only_memberships(soffit, flowers, tmp_path):
    out = tmp_path / "out.csv"
    soffit("fit", flowers, "-k", 3, "--id", "flower", "-o", out, "--only-memberships")
    assert list(rows_of(out)[0]) == [
        "flower",
        *("cluster", "certainty", "entropy"),
        "p0",
        "p1",
        "p2",
    ]
    soffit("fit", flowers, "-k", 3, "--id", "flower", "-o", out)
    assert rows_of(out)[0]["petal_width"] == "0.2"


def test_rows_without_names_are_counted_from_one(soffit, answer, few_flowers, tmp_path):
    out, apart = tmp_path / "out.csv", tmp_path / "apart.csv"
    common = ("fit", few_flowers, "-k", 2, "--drop", "flower,species")
    soffit(*common, "-o", out, "--only-memberships")
    assert [row["row"] for row in rows_of(out)][:2] == ["1", "2"]
    apart.write_text("1,2\n")
    soffit(*common, "--cannot-link", apart)
    apart.write_text("0,1\n")
    assert (
        "'0', which is not an identifier" in soffit(*common, "--cannot-link", apart, code=1).stderr
    )
    page = tmp_path / "page.html"
    soffit("report", out, "-o", page)


def test_standard_input_also_compressed(flowers):
    data = flowers.read_bytes()
    command = [sys.executable, "-m", "soffit.cli"]
    fit = ["fit", "-", "-k", "3", "--drop", "species", "-o", "out.csv", "--save", "m.soffit", "-q"]
    for arguments, given in ((fit, data), (["predict", "m.soffit", "-"], gzip.compress(data))):
        done = subprocess.run(
            [*command, *arguments],
            cwd=flowers.parent,
            env=environment(),
            input=given,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert rows_of(flowers.parent / "out.csv")[5]["flower"] == "F005"


@pytest.mark.skipif(os.name == "nt", reason="a shell is needed")
@pytest.mark.parametrize("arguments", ["fit flowers.csv -k 2 -o out.csv", "info flowers.csv"])
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_closed_output_is_no_error(flowers, arguments, closed):
    command = f"{sys.executable} -m soffit.cli {arguments} {closed}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=flowers.parent,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Error" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full device is needed")
def test_full_output(flowers):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "soffit.cli", "info", "flowers.csv"],
            cwd=flowers.parent,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert b"There is no space left for the output" in done.stderr


def test_a_broken_library_is_not_called_missing(flowers, tmp_path):
    (tmp_path / "xlsxwriter.py").write_text("raise ImportError('undefined symbol: foo')")
    paths = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    done = run(tmp_path, "fit", flowers, "-k", 2, "-o", "out.xlsx", PYTHONPATH=paths)
    assert done.returncode == 1
    assert b"is installed but cannot be imported (undefined symbol: foo)" in done.stderr
