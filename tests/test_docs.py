"""Every piece of Python in the README and the documentation runs and prints what it says."""

import contextlib
import doctest
import importlib
import io
import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GENERATED = {"_build", "auto_examples", "generated"}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def documents(suffix):
    found = [path for path in (ROOT / "docs").rglob(f"*{suffix}") if not GENERATED & set(path.parts)]
    return sorted([*ROOT.glob(f"*{suffix}"), *found])


def by_name(path):
    return str(path.relative_to(ROOT))


def run_doctest(text, path, namespace):
    """Run the prompts in a text; return how many there were."""
    test = doctest.DocTestParser().get_doctest(text, namespace, by_name(path), str(path), 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(test, out=report.write, clear_globs=False)
    assert not runner.failures, report.getvalue()
    namespace.update(test.globs)
    return len(test.examples)


@pytest.mark.parametrize("path", documents(".rst"), ids=by_name)
def test_restructured_text(path):
    if path.stem == "scale":
        pytest.importorskip("dask", reason="Dask is not installed")
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"code-block:: *(python|pycon)", text), "use >>> prompts, which are run"
    run_doctest(text, path, {})


@pytest.mark.parametrize("path", documents(".md"), ids=by_name)
def test_markdown(path):
    blocks = FENCE.findall(path.read_text(encoding="utf-8"))
    namespace = {"__name__": "__main__"}
    for position, (language, code) in enumerate(blocks):
        if language not in {"python", "pycon"}:
            assert ">>>" not in code, f"a {language or 'plain'} block holds Python, which would not be run"
        elif ">>>" in code:
            run_doctest(code, path, namespace)
        else:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, str(path), "exec"), namespace)
            if printed.getvalue():
                language, shown = blocks[position + 1]
                assert language == "text", "the block after a script shows what it prints"
                assert printed.getvalue() == shown


def test_there_is_something_to_run():
    """A broken pattern would find no code and pass."""
    theory = sorted((ROOT / "docs" / "theory").glob("*.rst"))
    counts = {path.stem: run_doctest(path.read_text(encoding="utf-8"), path, {}) for path in theory}
    counts.pop("index")
    assert len(counts) >= 4
    assert min(counts.values()) >= 5
    assert "python" in dict(FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8")))


def test_every_citation_is_in_the_references():
    sources = [*(ROOT / "src").rglob("*.py"), *documents(".rst")]
    cited = {key for path in sources for key in re.findall(r"\[([A-Z]\w+\d{4}\w?)\]_", path.read_text("utf-8"))}
    listed = re.findall(r"^\.\. \[(\w+)\]", (ROOT / "docs" / "references.rst").read_text("utf-8"), re.MULTILINE)
    assert "KuleszaTaskar2012" in cited
    assert cited <= set(listed)
    assert listed == sorted(set(listed))


@pytest.mark.parametrize(
    "module",
    [
        "",
        ".kernels",
        ".structured",
        ".baselines",
        ".theory.classics",
        ".theory.exact_cover",
        ".theory.mrf",
        ".theory.open_questions",
        ".images",
        ".integrations",
        ".integrations.curation",
        ".integrations.stores",
        ".learn",
        ".metrics",
        ".text",
        ".plots",
        ".poses",
        ".theory.processes",
        *(f".numerics.{m}" for m in ("symmetric", "eigenvector_probabilities")),
    ],
)
def test_every_public_name_is_in_the_reference(module):
    text = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8")
    start = text.index(f".. currentmodule:: diverset{module}\n")
    end = text.find(".. currentmodule::", start + 1)
    listed = set(re.findall(r"^   (\w+)$", text[start:end], re.MULTILINE))
    public = set(importlib.import_module(f"diverset{module}").__all__)
    # What the front page lists needs no second entry.
    known = {"__version__", "errors", "kernels"}
    if module == ".structured":
        known |= {"FactorGraph", "StructuredDPP"}
    assert public - known == listed


def test_the_map_of_the_monograph_names_tests_and_scripts_that_exist():
    text = (ROOT / "docs" / "monograph.rst").read_text(encoding="utf-8")
    named = re.findall(r"``(tests/[\w/]+\.py)``", text)
    scripts = re.findall(r"sphx_glr_auto_examples_([a-z]+)_(plot_\w+\.py)", text)
    assert len(set(named)) > 30
    assert [path for path in named if not (ROOT / path).is_file()] == []
    assert len(scripts) > 20
    assert [name for name in scripts if not ROOT.joinpath("examples", *name).is_file()] == []


def mapped(title):
    """Numbers in the first column of a table of the map, ranges written out, and the rows they are in."""
    text = (ROOT / "docs" / "monograph.rst").read_text(encoding="utf-8")
    parts = re.split(r"^(.+)\n-{4,}$", text, flags=re.MULTILINE)
    rows = re.split(r"^   \* - ", parts[parts.index(title) + 1], flags=re.MULTILINE)[2:]
    found = {}
    for row in rows:
        for part in row.split("\n", 1)[0].split(", "):
            first, last = (part.split("-") * 2)[:2]
            head, _, start = first.rpartition(".")
            for number in range(int(start), int(last.rpartition(".")[2]) + 1):
                name = f"{head}.{number}" if head else str(number)
                assert name not in found, f"{title}: {name} is there twice"
                found[name] = row
    return found


def test_the_map_leaves_nothing_of_the_monograph_out():
    """Counts of its figures, tables, algorithms and numbered statements, from its source."""
    whole = {"Figures": 30, "Tables": 12, "Algorithms": 11}
    for title, count in whole.items():
        assert sorted(mapped(title), key=int) == [str(number) for number in range(1, count + 1)]
    for number, row in mapped("Figures").items():
        assert re.search(r"sphx_glr_auto_examples_[a-z]+_plot_", row), f"figure {number} has no script"
    statements = {2: 9, 3: 4, 4: 2, 5: 2, 6: 4, 7: 1}
    expected = {f"{section}.{number}" for section, count in statements.items() for number in range(1, count + 1)}
    assert set(mapped("Theorems and other statements")) == expected


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*/plot_*.py")), ids=by_name)
def test_gallery_script(path, monkeypatch):
    import matplotlib

    if "dtm_threads" in path.read_text(encoding="utf-8"):
        pytest.importorskip("gensim", reason="the dynamic topic model needs gensim")
    monkeypatch.setenv("MPLBACKEND", "agg")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    runpy.run_path(str(path), run_name="__main__")
    assert plt.get_fignums()
    plt.close("all")


SITE = ROOT / "docs" / "_build" / "html"
FIRST = {
    "greedy": "exact",
    "minibatch": "howto/minibatches",
    "inducing": "howto/inducing_points",
    "beam": "howto/nbest_beam",
    "k-DPP": "theory/kdpp",
    "MMR": "howto/from_mmr",
    "RAG": "howto/rag",
    "CSV": "howto/csv_parquet",
    "baskets": "howto/baskets",
    "marginals": "howto/marginals",
}


@pytest.mark.skipif(not (SITE / "searchindex.js").is_file(), reason="the documentation is not built")
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_search_gives_the_right_page_first():
    script = Path(__file__).with_name("search_pages.js")
    done = subprocess.run(["node", script, SITE, *FIRST], capture_output=True, text=True, check=True)
    assert {query: pages[0] for query, pages in json.loads(done.stdout).items()} == FIRST


@pytest.mark.skipif(not (SITE / "searchindex.js").is_file(), reason="the documentation is not built")
def test_every_page_has_a_title():
    index = json.loads((SITE / "searchindex.js").read_text(encoding="utf-8")[len("Search.setIndex(") : -1])
    assert [name for name, title in zip(index["docnames"], index["titles"], strict=True) if "no title" in title] == []


def command_lines():
    """Calls of the program in the README and the documentation: where they are, the command and its options."""
    for path in [*documents(".md"), *documents(".rst")]:
        for command, rest in re.findall(r"^\s*\$ diverset (\w+)(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            yield by_name(path), command, re.findall(r"(?<=\s)(--?[a-z][\w-]*)", rest)


def test_every_command_line_has_options_that_exist():
    from typer.main import get_command

    from diverset.cli import app

    commands = get_command(app).commands
    calls = list(command_lines())
    assert len(calls) > 20
    for where, command, options in calls:
        known = {
            option for parameter in commands[command].params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert set(options) <= known, where
