"""The command line: what it prints, what it writes, and how it refuses."""

import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from diverset.cli import app
from diverset.cli.cities import choose_cities, load_us_cities, load_us_outline
from diverset.cli.demo import explain


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty directory, 100 columns wide, and return its result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def rows(text):
    """Lines of the tables of cities: rank, then one or more of name, population and probability."""
    return re.findall(r"^ *\d+ +(?:.*?, [A-Z]{2} +[\d,]+ +[01]\.\d{3} *)+$", text, re.MULTILINE)


def cities_in(text):
    return re.findall(r"[\w.' -]+?, [A-Z]{2}(?= +[\d,]+ +[01]\.\d{3})", text)


def test_version(run):
    result = run("--version")
    assert result.exit_code == 0
    assert re.fullmatch(r"diverset \d+\.\d+\.\d+\S* \(.*loops.*\)\n", result.output)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["demo", "--help"]])
def test_help_shows_an_example(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 0
    assert "Usage" in result.output
    assert re.search(r"Example: +diverset demo", result.output)


def test_demo_prints_two_lists_and_writes_the_map(run, tmp_path):
    result = run("demo")
    assert result.exit_code == 0, result.output
    table = rows(result.stdout)
    assert len(table) == 10
    assert [len(cities_in(row)) for row in table] == [2] * 10
    assert "Map written to diverset-demo.png" in result.stdout
    assert (tmp_path / "diverset-demo.png").read_bytes().startswith(b"\x89PNG")
    pages = ["diverset-demo-index.html", "diverset-demo-summary.html", "diverset-demo-threads.html"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [*pages, "diverset-demo.png"]


def test_demo_in_a_narrow_terminal_stacks_the_lists(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    result = run("demo")
    assert result.exit_code == 0
    assert [len(cities_in(row)) for row in rows(result.stdout)] == [1] * 20
    assert max(len(line) for line in result.stdout.splitlines()) <= 50


def test_demo_with_a_seed_shows_a_repeatable_draw(run):
    first, second, other = (run("demo", "-k", "4", "--seed", seed).stdout for seed in ("1", "1", "2"))
    assert "Drawn at random" in first
    assert first == second
    assert first != other
    assert len(cities_in(first)) == 12


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("b.PDF", b"%PDF")])
def test_demo_writes_the_format_of_the_extension(run, tmp_path, name, start):
    assert run("demo", "-k", "3", "-o", name).exit_code == 0
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "-k", "ten"], "-k"),
        (["demo", "-k", "0"], "k = 0 .* between 1 and 200"),
        (["demo", "-k", "-3"], "k = -3 .* between 1 and 200"),
        (["demo", "-k", "500"], "k = 500 .* between 1 and 200"),
        (["demo", "-o", "missing/map.png"], "missing/map.png"),
        (["demo", "-o", "."], r"\.png, \.svg or \.pdf"),
        (["demo", "-o", "map.txt"], r"map\.txt.*\.png, \.svg or \.pdf"),
        (["demo", "--seed", "-1"], "seed"),
        (["demo", "--length-scale", "0"], "length_scale = 0 .* positive"),
        (["demo", "--length-scale", "nan"], "length_scale = nan .* positive"),
        (["demo", "--population-power", "-1"], "population_power = -1"),
        (["demo", "--size-of-all-things", "3"], "--size-of-all-things"),
        (["dmo"], "dmo"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(run, tmp_path, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.fullmatch(r"diverset: error: [^\n]+\n", result.stderr)
    assert re.search(message, result.stderr)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_is_one_line_and_leaves_nothing(run, tmp_path, monkeypatch):
    def fail(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    result = run("demo", "-k", "2")
    assert result.exit_code == 1  # no other input would help
    assert re.fullmatch(r"diverset: error: [^\n]*No space left on device\n", result.stderr)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_is_quiet(run, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("diverset.cli.demo.choose_cities", interrupt)
    result = run("demo")
    assert result.exit_code == 130
    assert result.stderr.strip() == ""


def test_a_bug_is_not_dressed_up_as_bad_input(run, monkeypatch):
    def fail(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr("diverset.cli.demo.choose_cities", fail)
    assert isinstance(run("demo").exception, ZeroDivisionError)


def test_without_matplotlib_the_table_is_still_printed(run, tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert len(rows(result.stdout)) == 10
    assert 'pip install "diverset[plots]"' in result.stdout
    assert not (tmp_path / "diverset-demo.png").exists()


def test_as_a_process(tmp_path):
    command = [sys.executable, "-m", "diverset", "demo", "-o", "map.png"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(rows(done.stdout)) == 10
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    assert (tmp_path / "map.png").exists()
    failed = subprocess.run([*command, "-k", "500"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert re.fullmatch(r"diverset: error: [^\n]+\n", failed.stderr)


def test_cities_are_the_200_largest_in_order():
    cities = load_us_cities()
    assert len(cities) == len(set(cities.labels)) == 200
    assert (np.diff(cities.population) <= 0).all()
    assert np.allclose(np.linalg.norm(cities.points, axis=1), 6371.0)
    i, j, km = cities.closest_pair(np.array([0, 1, 2]))  # New York, Los Angeles, Chicago
    assert {i, j} == {0, 2}
    assert km == pytest.approx(1145, abs=5)


def test_the_outline_holds_the_contiguous_cities():
    from matplotlib.path import Path

    cities = load_us_cities()
    inside = Path(load_us_outline()).contains_points(np.stack([cities.latitude, cities.longitude], axis=1))
    assert {cities.states[i] for i in np.flatnonzero(~inside)} == {"AK", "HI"}


def test_the_choice_is_consistent():
    choice = choose_cities(10, rng=3)
    assert set(choice.sets) == {"diverse", "populous", "drawn"}
    assert all(len(set(items.tolist())) == 10 for items in choice.sets.values())
    assert choice.inclusion.sum() == pytest.approx(10)
    assert choice.log_prob["diverse"] > choice.log_prob["populous"]
    assert choice.cities.closest_pair(choice.diverse)[2] > choice.cities.closest_pair(choice.populous)[2]
    assert "are both taken" in explain(choice)


def test_much_weight_on_population_gives_the_most_populous():
    choice = choose_cities(10, population_power=5.0)
    assert set(choice.diverse.tolist()) == set(range(10))
    assert "the same" in explain(choice)


@pytest.mark.parametrize("k", [1, 2, 60])
def test_other_sizes_work(run, k):
    result = run("demo", "-k", str(k))
    assert result.exit_code == 0, result.output
    assert len(rows(result.stdout)) == k
