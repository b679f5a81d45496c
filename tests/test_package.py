"""What users install: wheel and sdist are built, and the wheel works in an empty environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent

SCRIPT = """
from postel import NodeClassifier, PosteL, load_dataset
data = load_dataset("csbm-heterophilic", split=0)
model = NodeClassifier("gcn", smoother=PosteL(alpha=0.5), max_epochs=20).fit(data)
assert 0 < model.score(data, data.test_mask) < 1
print(PosteL()(data).soft_y.shape)
"""


def _run(*command: str | Path, cwd: Path) -> str:
    # Neither the checkout nor the environment of the tests may be seen from here.
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "POSTEL_DATA", "POSTEL_REQUIRE", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist, built from a copy of what git tracks."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    listed = _run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    needed = [name for name in listed.split("\0") if name.startswith("src/") or ("/" not in name and name)]
    for name in needed:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    # Without isolation: the build needs setuptools alone, which is at hand, and no index.
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", source, cwd=folder)
    return folder / "dist"


def test_wheel_and_sdist_carry_every_file_of_the_package(built: Path) -> None:
    package = ROOT / "src" / "postel"
    files = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    (wheel,) = built.glob("*.whl")
    (sdist,) = built.glob("*.tar.gz")
    in_wheel = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2].removeprefix("src/") for name in archive.getnames()}
    assert files - in_wheel == set()
    assert files - in_sdist == set()


def _declared(wheel: Path, extra: str) -> set[str]:
    """The distributions that ``wheel[extra]`` asks for, with what they ask for in their turn."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    own = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    found: set[str] = set()
    wanted = [("postel", extra), ("postel", "")]
    while wanted:
        name, asked = wanted.pop()
        for text in own if name == "postel" else metadata.requires(name) or []:
            need = Requirement(text)
            if need.marker is not None and not need.marker.evaluate({"extra": asked}):
                continue
            wanted += [(need.name, each) for each in need.extras if (need.name, each) != (name, asked)]
            if canonicalize_name(need.name) not in found and need.name != "postel":
                found.add(canonicalize_name(need.name))
                wanted.append((need.name, ""))
    return found


def _link_into(home: Path, name: str) -> None:
    """Give an environment the files of a distribution of this one, at no cost of time or space."""
    for file in metadata.files(name) or []:
        source = Path(str(file.locate()))
        known = ".." in file.parts or "__pycache__" in file.parts or (home / file).exists()
        if source.is_file() and not known:
            (home / file).parent.mkdir(parents=True, exist_ok=True)
            (home / file).symlink_to(source)


@pytest.mark.slow
def test_the_wheel_works_with_what_it_declares_and_nothing_else(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    _run(sys.executable, "-m", "venv", tmp_path / "empty", cwd=tmp_path)
    python = tmp_path / "empty" / "bin" / "python"
    home = Path(_run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    for name in _declared(wheel, "demo"):
        _link_into(home, name)
    quiet = ("--quiet", "--disable-pip-version-check", "--no-index")
    _run(python, "-m", "pip", "install", *quiet, f"{wheel}[demo]", cwd=tmp_path)
    assert "postel" in _run(python, "-c", "import postel; print(postel.__file__)", cwd=tmp_path)
    assert _run(python, "-c", SCRIPT, cwd=tmp_path).strip() == "torch.Size([1500, 5])"
    shown = _run(
        tmp_path / "empty" / "bin" / "postel", "demo", "--splits", "2", "--max-epochs", "40", cwd=tmp_path
    )
    assert "csbm-heterophilic" in shown and "PosteL" in (tmp_path / "demo" / "report.html").read_text("utf-8")
    missing = _run(python, "-c", "import importlib.util as u; print(u.find_spec('duckdb'))", cwd=tmp_path)
    assert missing.strip() == "None"
