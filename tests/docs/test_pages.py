"""The Markdown pages keep up with the code: links, Python blocks, worked examples and command lines."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, blocks, broken_links, command_lines, complaint

EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())


@EVERY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


@EVERY_PAGE
def test_python_blocks_compile(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8"), "python"):
        ast.parse(block.text, filename=f"{page.name}, line {block.line}")


@EVERY_PAGE
def test_command_lines_name_commands_and_options_that_there_are(page: Path) -> None:
    lines = command_lines(page.read_text(encoding="utf-8"))
    assert [told for words, whole in lines if (told := complaint(words, whole))] == []


def test_the_worked_examples_of_the_method_give_what_they_show() -> None:
    text = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    examples = "\n".join(block.text for block in blocks(text, "pycon"))
    test = doctest.DocTestParser().get_doctest(examples, {}, "method.md", "docs/method.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.tries > 10 and runner.failures == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/recipes.md", "docs/coming_from.md"])
def test_the_python_blocks_of_a_page_run_in_their_order(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {"__name__": "page"}
    for block in blocks((ROOT / name).read_text(encoding="utf-8"), "python"):
        quick = block.text.replace("pseudo_labels=True)", "pseudo_labels=True, max_epochs=20)")
        quick = quick.replace("budget=200", "budget=4, workers=1, fixed={'max_epochs': 10}")
        exec(compile("\n" * (block.line - 1) + quick, name, "exec"), session)


def test_the_checkers_find_what_is_wrong(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        """# A title, and `more`

[fine](#a-title-and-more) [fine](page.md#a-title-and-more) [fine](https://example.org) ![no image](missing.png)
[no page](gone.md) [no heading](#another-title) [not https](http://example.org)

Run `postel smooth` or `postel smoothen --out x`.

    THREADS=1 postel smooth --edges a --labels b --out c \\
        --no-such-option    # a comment
    postel diagnose karate && postel diagnose
    python benchmarks/epoch.py

    method   accuracy
    postel       78.4

    postel diagnose

```python
print("fine")
```
""",
        encoding="utf-8",
    )
    names = ["missing.png", "gone.md", "#another-title", "http://example.org"]
    assert broken_links(page) == [f"page.md: {name}" for name in names]
    lines = command_lines(page.read_text(encoding="utf-8"))
    told = [complaint(words, whole) for words, whole in lines]
    assert len(lines) == 6
    assert told[0] is not None and "--no-such-option" in told[0]
    assert told[1] is None
    assert told[2] is not None and "Missing argument" in told[2]
    assert told[3] == told[2]
    assert told[4:] == [None, "there is no command smoothen"]
    assert [block.line for block in blocks(page.read_text(encoding="utf-8"), "python")] == [19]
