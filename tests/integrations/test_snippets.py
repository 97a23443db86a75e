"""The snippets of the documentation run against the real frameworks, and print what their comments say."""

import re
import runpy
from pathlib import Path

import pytest

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"
FRAMEWORKS = {
    "langchain_reranker": "langchain_core",
    "haystack_reranker": "haystack",
    "llama_index_reranker": "llama_index.core",
    "sklearn_subset": "sklearn",
    "torch_batches": "torch",
    "inducing_points": "sklearn",
    "coreset": "sklearn",
    "baskets": "pandas",
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_snippet_prints_what_it_says(name, capsys):
    pytest.importorskip(FRAMEWORKS[name], reason=f"{FRAMEWORKS[name]} is not installed")
    path = SNIPPETS / f"{name}.py"
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", path.read_text(), re.MULTILINE)


def test_every_snippet_is_run():
    assert {path.stem for path in SNIPPETS.glob("*.py")} == set(FRAMEWORKS)
