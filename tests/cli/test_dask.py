"""`--dask`: files in blocks, from the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.cli.test_process import environment

pytest.importorskip("dask.dataframe")


@pytest.fixture
def parts(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 3, 6000)
    frame = pd.DataFrame(
        9 * np.eye(3, 4)[labels] + rng.normal(size=(6000, 4)), columns=list("abcd")
    )
    frame["name"] = "x"
    for number in range(3):
        part = frame[2000 * number : 2000 * (number + 1)]
        part.to_parquet(tmp_path / f"part-{number}.parquet")
    return labels


def test_fit_predict_and_report_in_blocks(parts, tmp_path, soffit, answer):
    fitted = answer(
        *("fit", "part-*.parquet", "-k", 3, "--dask", "threads", "--sample-size", 900),
        *("-o", "found.parquet", "--save", "m.soffit", "--report", "r.html"),
    )
    assert fitted["n_objects"] == 6000
    assert sum(cluster["size"] for cluster in fitted["clusters"]) == 6000
    found = pl.read_parquet(tmp_path / "found.parquet")
    assert found["row"].to_list() == list(range(6000))
    sizes = np.bincount(found["cluster"], minlength=3)
    assert sizes.tolist() == [cluster["size"] for cluster in fitted["clusters"]]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "of 6,000 objects" in page
    assert f"{sizes[0]:,}" in page
    soffit("predict", "m.soffit", "part-*.parquet", "--dask", "threads", "-o", "new.parquet")
    assert pl.read_parquet(tmp_path / "new.parquet").equals(found)
    told = answer(
        *("report", "m.soffit", "--data", "part-*.parquet", "--dask", "threads"),
        *("-o", "later.html", "--title", "Later"),
    )
    assert [cluster["size"] for cluster in told["clusters"]] == sizes.tolist()
    page = (tmp_path / "later.html").read_text(encoding="utf-8")
    assert f"{sizes[0]:,}" in page
    assert "Later" in page


def test_results_of_an_earlier_command_do_not_stay(parts, soffit, tmp_path):
    fit = ("fit", "part-*.parquet", "-k", 3, "--dask", "threads", "--sample-size", 600)
    soffit(*fit, "-o", "found.parquet", "--save", "m.soffit")
    assert len(list((tmp_path / "found.parquet").iterdir())) == 3
    soffit("predict", "m.soffit", "part-0.parquet", "--dask", "threads", "-o", "found.parquet")
    assert pl.read_parquet(tmp_path / "found.parquet")["row"].to_list() == list(range(2000))


def test_folders_with_other_files_are_not_written_to(parts, soffit, tmp_path):
    data, other = tmp_path / "data.parquet", tmp_path / "other.parquet"
    for number, folder in enumerate((data, other)):
        folder.mkdir()
        (tmp_path / f"part-{number}.parquet").rename(folder / "part-000000.parquet")
    (tmp_path / "notes.parquet").mkdir()
    (tmp_path / "notes.parquet" / "notes.txt").write_text("mine")
    for output, message in (
        ("data.parquet", "holds the input"),
        ("other.parquet", "other files, such as part-000000.parquet"),
        ("notes.parquet", "other files, such as notes.txt"),
        ("none/x.parquet", "does not exist"),
    ):
        found = soffit("fit", "data.parquet", "--dask", "threads", "-o", output, code=None)
        assert found.exit_code == 2
        assert message in " ".join(found.output.replace("│", " ").split()), found.output
    assert len(pl.read_parquet(data)) == len(pl.read_parquet(other)) == 2000


@pytest.mark.skipif(os.name == "nt", reason="signals of a terminal are needed")
def test_ctrl_c_of_a_terminal_ends_the_command_without_words_of_its_processes(parts, tmp_path):
    psutil = pytest.importorskip("psutil")
    pytest.importorskip("distributed")
    command = [sys.executable, "-m", "soffit.cli", "fit", "part-*.parquet", "--dask", "local"]
    # A group of its own, to which the signal goes as from a terminal.
    work = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        workers = []
        while len(workers) < 2 and work.poll() is None:
            time.sleep(0.02)
            processes = psutil.Process(work.pid).children(recursive=True)
            workers = [p for p in processes if "spawn_main" in " ".join(p.cmdline())]
        os.killpg(work.pid, signal.SIGINT)
        told = work.communicate(timeout=60)[1].decode()
    finally:
        work.kill()
    assert work.returncode == 130
    assert "Traceback" not in told, told
    assert "interrupted by Ctrl-C" in told


def test_the_place_may_be_left_out():
    from soffit.cli.app import with_default_place

    for given, expected in (
        ("fit --dask x.npy", "fit --dask local x.npy"),
        ("fit x.npy --dask", "fit x.npy --dask local"),
        ("fit --dask -k 3 x.npy", "fit --dask local -k 3 x.npy"),
        ("fit --dask threads x.npy", "fit --dask threads x.npy"),
        ("fit --dask tcp://a.b:1 x.npy", "fit --dask tcp://a.b:1 x.npy"),
        ("fit --dask 10.0.0.1:8786 x.npy", "fit --dask 10.0.0.1:8786 x.npy"),
        ("fit x.npy", "fit x.npy"),
    ):
        assert with_default_place(given.split()) == expected.split()


def test_a_report_in_blocks_needs_a_model_and_data(parts, soffit, tmp_path):
    (tmp_path / "m.csv").write_text("a\n1\n")
    for arguments, message in (
        (("m.csv", "--data", "part-*.parquet", "--dask", "threads"), "It needs a model"),
        (("m.csv", "--dask", "threads"), "--data"),
    ):
        found = soffit("report", *arguments, code=None)
        assert found.exit_code != 0
        assert message in " ".join(found.output.replace("│", " ").split()), found.output


def test_mistakes_are_named(parts, soffit):
    for arguments, message in (
        (("--dask", "threads", "-o", "x.csv"), "folder of Parquet files"),
        (("--dask", "threads", "--method", "sof"), "--method"),
        (("--dask", "threads", "--label", "name"), "--label"),
        (("--dask", "threads", "-o", "x.parquet", "--min-certainty", 0.9), "--min-certainty"),
        (("--dask", "threads", "-o", "x.parquet", "--only-memberships"), "--only-memberships"),
        (("--dask", "threads", "--drop", "z"), "no such column"),
        (("--sample-size", "9"), "--sample-size"),
    ):
        found = soffit("fit", "part-*.parquet", *arguments, code=None)
        assert found.exit_code != 0
        assert message in " ".join(found.output.replace("│", " ").split()), found.output
