from __future__ import annotations

from pathlib import Path

from cli.commands import postel


def test_the_demo_without_any_network(tmp_path: Path) -> None:
    """With no index, no cache and no data the embedded graphs stand in, and it says so."""
    offline = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    done = postel(
        "demo", "--splits", "2", "--max-epochs", "40", "--out", "demo/report.html", cwd=tmp_path, **offline
    )
    assert done.returncode == 0, done.stderr
    assert "CiteSeer is not at hand" in " ".join(done.stderr.split())
    page = (tmp_path / "demo" / "report.html").read_text()
    for name in ("csbm-homophilic", "csbm-heterophilic", "one_hot", "uniform", "sals", "postel"):
        assert name in page
        assert name in done.stdout
    assert "CiteSeer is not at hand" in page
    assert page.index('class="opening"') < page.index('class="lead"')
    assert 'href="#method-calibrated"' in page and 'id="method-calibrated"' in page
