"""Options that make no sense: one sentence, exit code 2, and nothing left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.commands import Here

pytest.importorskip("pyarrow")
SMOOTH = ("smooth", "--edges", "e.csv", "--labels", "n.csv", "--out", "o.parquet")
LONG = "x" * 5000


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "e.csv").write_text("source,target\n1,2\n2,3\n3,1\n")
    (tmp_path / "n.csv").write_text("node,label,w\n1,a,1\n2,b,0\n3,a,1\n")
    (tmp_path / "latin.csv").write_bytes("node,label\n1,café\n2,thé\n".encode("latin-1"))
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        *((*SMOOTH, "--memory-limit", size) for size in ("", "much", "-1GB", "nan", "0", "1e3GB", "GB", "1 2 GB")),
        *((*SMOOTH, "--threads", count) for count in ("0", "-1", "99999999999999999999", "two", "1.5")),
        *((*SMOOTH, "--separator", sign) for sign in ("", ";;", "\n", '"', "é", LONG)),
        *(("convert", "e.csv", "n.csv", "g.npz", "--separator", sign) for sign in ("", ";;", "\n", '"', LONG)),
        ("convert", "e.csv", "n.csv", f"{LONG}.npz"),
        ("convert", LONG, "n.csv", "g.npz"),
        ("convert", "e.csv", "n.csv", "g.npz", "--split-table", LONG),
        ("convert", "e.csv", "n.csv", "g.npz", "--label", "node"),
        ("convert", "e.csv", "latin.csv", "g.npz"),
        ("convert", "none.npz", "g.npz"),
        ("convert", "e.csv"),
        (*SMOOTH[:-1], f"{LONG}.parquet"),
        ("smooth", "--edges", LONG, "--labels", "n.csv", "--out", "o.parquet"),
        ("smooth", "--edges", "e.csv", "--labels", "latin.csv", "--out", "o.parquet"),
        ("diagnose", LONG),
        ("diagnose", f"{LONG}.npz"),
        ("diagnose", "karate", "--plot", f"{LONG}.png"),
        ("train", "karate", "--max-epochs", "1", "--out", LONG),
        ("train", "karate", "--max-epochs", "1", "--data-root", LONG, "--set", f"{LONG}=1"),
        ("predict", LONG, "karate"),
        ("predict", "e.csv", "karate"),
        ("report", "--store", LONG, "--out", "r.html"),
        ("export", "rows.csv", "--store", LONG),
        ("export", f"{LONG}.csv", "--store", "none.sqlite"),
        ("fetch", LONG),
    ],
    ids=lambda arguments: " ".join(word[:12] for word in arguments),
)
def test_one_sentence(arguments: tuple[str, ...], here: Here, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = here(*arguments, cwd=folder)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr[-2000:]
    ours = [line for line in done.stderr.splitlines() if line.startswith("postel: ")]
    assert len(ours) == 1 or (not ours and "Usage:" in done.stderr), done.stderr[-2000:]
    assert sorted(folder.rglob("*")) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_told(here: Here, folder: Path) -> None:
    folder.chmod(0o555)
    done = here(*SMOOTH, cwd=folder)
    folder.chmod(0o755)
    assert done.returncode == 2 and "cannot be written" in done.stderr
