"""Every example runs as a user runs it, and what it prints is true; so do the blocks of the tutorial."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))


def _started(script: Path | str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if key != "POSTEL_DATA"}
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(EXAMPLES / script), *arguments],
        cwd=cwd,
        env={**kept, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def _run(script: Path | str, *arguments: str, cwd: Path) -> str:
    done = _started(script, *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _numbers(pattern: str, text: str) -> list[float]:
    return [float(found) for found in re.findall(pattern, text)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_short_and_listed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert text.startswith('"""') and f"python examples/{path.name}" in text.split('"""')[1]
    assert f"[{path.name}]({path.name})" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_there_are_examples() -> None:
    assert len(FILES) >= 5


def test_plain_pyg_loop(tmp_path: Path) -> None:
    said = _run("plain_pyg_loop.py", cwd=tmp_path)
    (majority,) = _numbers(r"majority class of the test nodes: (\S+)", said)
    accuracies = _numbers(r"test accuracy (\S+)", said)
    assert len(accuracies) == 3 and min(accuracies) > majority + 0.1
    labels = [list(map(float, row.split())) for row in re.findall(r"label of node \d+: (.+)", said)]
    one_hot, uniform, posterior = labels
    assert sorted(one_hot) == [0, 0, 0, 0, 1]
    assert all(sum(label) == pytest.approx(1, abs=3e-3) for label in labels)
    assert len(set(uniform)) == 2 and len(set(posterior)) > 2
    assert list(tmp_path.iterdir()) == []


def test_own_model_with_pseudo_labels(tmp_path: Path) -> None:
    said = _run("own_model_with_pseudo_labels.py", "model", cwd=tmp_path)
    losses = _numbers(r"(?m)^ +\d+ +(\d\.\d{4})  ", said)
    (kept,), (trainings,) = _numbers(r"kept round (\d+)", said), _numbers(r"of (\d+) trainings", said)
    assert len(losses) == trainings and losses[int(kept)] == min(losses)
    fitted, loaded = _numbers(r"test accuracy ([\d.]+)\b", said)
    (majority,) = _numbers(r"majority class ([\d.]+),", said)
    assert fitted == loaded > majority + 0.1 and "same probabilities: True" in said
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"model.json", "weights.safetensors"}


def test_compare_on_your_graph(tmp_path: Path) -> None:
    said = _run("compare_on_your_graph.py", cwd=tmp_path)
    assert "300 nodes, 30 without label, classes ('news', 'shop', 'sport')" in said
    lines = re.findall(r"(?m)^(\w.*?) +([\d.]+) \[([\d.]+), ([\d.]+)\](.*)$", said)
    assert [line[0].split()[0] for line in lines] == ["one_hot", "uniform", "sals", "postel"]
    means = [float(line[1]) for line in lines]
    assert all(float(low) <= mean <= float(high) for mean, (_, _, low, high, _) in zip(means, lines, strict=True))
    (majority,) = _numbers(r"majority class ([\d.]+) %", said)
    assert means[0] > majority and means[3] > majority
    assert "over one-hot" not in lines[0][4]
    for mean, line in zip(means[1:], lines[1:], strict=True):
        (gain,), (p,) = _numbers(r"over one-hot ([+-][\d.]+)", line[4]), _numbers(r"p = ([\d.]+)", line[4])
        assert gain == pytest.approx(mean - means[0], abs=0.11)
        assert 0 < p <= 1
    assert list(tmp_path.iterdir()) == []


def test_compare_takes_tables_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("source,target\n1,2\n")
    (tmp_path / "n.csv").write_text("node,topic\n1,x\n2,y\n")
    done = _started("compare_on_your_graph.py", "e.csv", "n.csv", cwd=tmp_path)
    assert done.returncode == 1 and "n.csv lacks the column 'label'; it has node, topic" in done.stderr


def test_parquet_with_duckdb(tmp_path: Path) -> None:
    said = _run("parquet_with_duckdb.py", "3000", cwd=tmp_path)
    rows, labelled = re.findall(r"(\d+) soft labels from (\d+) labelled nodes on duckdb", said)[0]
    assert rows == labelled and 1790 < int(rows) < 1810
    assert _numbers(r"within (\S+)", said)[0] < 1e-6 and _numbers(r"in memory: (\S+)", said)[0] < 1e-6
    table = [
        [float(share) for share in re.findall(r"[\d.]+", line)] for line in re.findall(r"\[+([^\[\]]+)\]", said)
    ]
    assert len(table) == 5 and all(sum(row) == pytest.approx(1, abs=0.03) for row in table)
    assert all(max(row) == row[k] for k, row in enumerate(table))  # the graph is homophilic


def test_tuned_study_resumes(tmp_path: Path) -> None:
    first = _run("tuned_study.py", "rows.sqlite", "karate", cwd=tmp_path)
    assert [line.split()[0] for line in first.splitlines() if "lr=" in line] == ["one_hot", "ls", "postel"]
    assert first.count(" 40 trainings: ") == 3 and first.count("4 of 4 settings on 5 splits") == 1
    (now,), (kept,) = _numbers(r"(\d+) runs now", first), _numbers(r"(\d+) in rows.sqlite", first)
    assert now == kept > 0
    again = _run("tuned_study.py", "rows.sqlite", "karate", cwd=tmp_path)
    assert again == first.replace(f"{now:.0f} runs now", "0 runs now")


def test_the_tutorial_from_tables_to_soft_labels(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    first, *blocks, last = re.findall(r"(?s)```python\n(.*?)```", text)
    convert, smooth = (re.findall(rf"(?m)^    postel ({name} .+)$", text)[0] for name in ("convert", "smooth"))
    script = [
        "from typer.testing import CliRunner",
        "from postel.cli.app import app",
        first,
        f"print(CliRunner().invoke(app, {convert.split()!r}).output)",
        *blocks,
        f"print(CliRunner().invoke(app, {smooth.split()!r}).output)",
        last,
        "made = PosteL()(load_dataset('web.npz', split=0, protocol='stratified')).soft_y",
        "print('the same', torch.equal(data.soft_y[data.train_mask], made[data.train_mask]))",
    ]
    # The trainings are cut short: what they come to is not what is tested.
    short = "\n".join(script)
    for long, cut in (
        ("range(150)", "range(5)"),
        ("=60", "=2"),
        ("True, lr=0.05", "True, lr=0.05, max_epochs=10"),
    ):
        assert short.count(long) == 1
        short = short.replace(long, cut)
    (tmp_path / "tutorial.py").write_text(short, encoding="utf-8")
    said = _run(tmp_path / "tutorial.py", cwd=tmp_path)
    for shown in ("1,000 nodes, 5,972 entries (both ways)", "480 soft labels over 5 classes", "of 200 are right"):
        assert shown in said and shown in text
    assert "the same True" in said
