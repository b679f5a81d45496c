"""The documentation site: Markdown pages that read the same on GitHub, and a reference made of docstrings."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import postel

sys.path.insert(0, str(Path(__file__).parent))

from repository_pages import linkcode_resolve  # noqa: F401  (a setting of sphinx.ext.linkcode)

project = "postel"
author = "The postel developers"
copyright = author
version = release = postel.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "repository_pages",
]

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
myst_url_schemes = {"http": None, "https": None, "mailto": None, "repo": None}

autosummary_generate = False
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
# Docstrings of torch_geometric, torch and pydantic are not ours to print.
autodoc_inherit_docstrings = False
maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"postel {version}"
html_copy_source = False

# One file that holds MathJax with its glyphs as outlines: equations show without a network and without fonts.
_bundle = importlib.util.find_spec("sphinx-mathjax-offline")
assert _bundle is not None and _bundle.origin is not None, 'run: pip install "postel[docs]"'
mathjax_path = "tex-svg-full.js"
mathjax3_config = {"svg": {"fontCache": "global"}}
html_static_path = [str(Path(_bundle.origin).parent / "static" / "mathjax" / mathjax_path)]


def _without_builtin_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    # A constant without a comment of its own would be explained by the docstring of dict or tuple.
    if what == "data" and lines and lines[0] in (type(obj).__doc__ or "").splitlines():
        lines.clear()


def _with_valid_defaults(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    # A field with a default factory has a signature that Sphinx cannot read, and so would not link.
    return signature and signature.replace("=<factory>", " = ...").replace(" = <factory>", " = ..."), returns


def setup(app: Any) -> None:
    """Connect the two corrections above."""
    app.connect("autodoc-process-docstring", _without_builtin_docstring)
    app.connect("autodoc-process-signature", _with_valid_defaults)
