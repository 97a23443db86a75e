"""What all commands share: the same options, the same results as the Python calls, one line for each error."""

import csv
import inspect
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app
from images_for_tests import save, scene

VERBS = ("select", "sample", "compare", "summarize", "thread", "images")
ESCAPE = "\x1b[31mred"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a directory with inputs of all kinds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)).round(3)
    quality = rng.random(30).round(3)
    with (tmp_path / "rows.jsonl").open("w") as file:
        for i in range(30):
            row = {"id": f"i{i}", "note": f"{ESCAPE} {i}", "e": X[i].tolist(), "score": quality[i]}
            file.write(json.dumps(row) + "\n")
    (tmp_path / "texts").mkdir()
    for i in range(3):
        text = f"The old bridge fell on Tuesday {ESCAPE}. Nobody was hurt. The mayor spoke {i + 2} times."
        (tmp_path / "texts" / f"{i}.txt").write_text(text)
    words = [("bridge", "crack girder ferry harbour"), ("comet", "probe orbit dust lander")]
    with (tmp_path / "news.jsonl").open("w") as file:
        for i in range(24):
            name, other = words[i % 2]
            text = f"{name} {' '.join(rng.permutation(other.split())[:3])} {name} news"
            row = {"id": f"d{i}", "date": f"2020-01-{1 + i:02d}", "title": f"{ESCAPE} {name} {i}", "text": text}
            file.write(json.dumps(row) + "\n")
    for i in range(5):
        save(tmp_path / "images" / f"{i}.png", scene(i, 60, 80))
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


ROWS = ["rows.jsonl", "-k", "4", "--features", "e", "--quality", "score"]
COMMANDS = {
    "select": ["select", *ROWS],
    "sample": ["sample", *ROWS, "--seed", "1"],
    "compare": ["compare", *ROWS, "--methods", "dpp,mmr", "--dials", "0.5"],
    "summarize": ["summarize", "texts", "--max-words", "12", "--draws", "50"],
    "thread": ["thread", "news.jsonl", "-k", "2", "-r", "4"],
    "images": ["images", "images", "-k", "2", "--no-cache"],
}


def as_python(verb, tmp_path):
    """The same by a call of Python, as a dictionary."""
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    X, quality = np.array([row["e"] for row in lines]), np.array([row["score"] for row in lines])
    if verb == "select":
        return dv.select(X, 4, quality=quality).to_dict()
    if verb == "compare":
        ids = [row["id"] for row in lines]
        return dv.compare(X, 4, quality=quality, methods=["dpp", "mmr"], dials=[0.5], ids=ids, rng=0).to_dict()
    if verb == "summarize":
        texts = [(tmp_path / "texts" / f"{i}.txt").read_text() for i in range(3)]
        return dv.summarize(texts, 12, n_draws=50).to_dict()
    if verb == "thread":
        return dv.find_threads("news.jsonl", 2, 4).to_dict()
    return dv.pick_images("images", 2, cache=False).to_dict()


@pytest.mark.parametrize("verb", ["select", "compare", "summarize", "thread", "images"])
def test_the_command_gives_what_the_call_gives(run, tmp_path, verb):
    result = run(*COMMANDS[verb], "--json")
    assert result.exit_code == 0, result.output
    ours, theirs = json.loads(result.stdout), as_python(verb, tmp_path)
    if verb == "select":
        assert [row["id"] for row in ours["picks"]] == [f"i{row['index']}" for row in theirs["picks"]]
        assert [row["gain"] for row in ours["picks"]] == [row["gain"] for row in theirs["picks"]]
        assert (ours["kept"], ours["redundancy"]) == (theirs["kept"], theirs["redundancy"])
    elif verb == "compare":
        assert ours["chosen"] == theirs["chosen"]
        for row, other in zip(ours["settings"], theirs["settings"], strict=True):
            assert row.pop("picks") == [f"i{i}" for i in other.pop("picks")[0]]
            assert row == other
    elif verb == "summarize":
        assert ours["summary"] == theirs["summary"]
        drop = lambda rows: [{k: v for k, v in row.items() if k != "document"} for row in rows]  # noqa: E731
        assert drop(ours["sentences"]) == drop(theirs["sentences"])
    else:
        assert ours == json.loads(json.dumps(theirs, default=str))


def test_sample_draws_from_the_law_of_python(run, tmp_path):
    drawn = json.loads(run(*COMMANDS["sample"], "-n", "3", "--json").stdout)["sets"]
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    law = dv.selection_law([row["e"] for row in lines], 4, quality=[row["score"] for row in lines])
    expected = law.sample(3, rng=1)
    assert [[row["id"] for row in each["rows"]] for each in drawn] == [[f"i{i}" for i in s] for s in expected]
    assert [each["log_prob"] for each in drawn] == pytest.approx([law.log_prob(s) for s in expected])


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_same_habits(run, tmp_path, verb):
    command = COMMANDS[verb]
    plain = run(*command)
    assert plain.exit_code == 0, plain.output
    assert "\x1b" not in plain.output  # escapes in the data are shown, not obeyed
    quiet = run(*command, "--quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")
    piped = run(*command, "-o", "-")
    assert piped.exit_code == 0, piped.output
    assert piped.stdout
    assert "Written" not in piped.stdout
    if verb in ("select", "sample", "compare", "images"):
        assert len(list(csv.DictReader(io.StringIO(piped.stdout)))) > 1
    for kind in ("html", "json", "jsonl", "csv", "md"):
        result = run(*command, "-o", f"out.{kind}", "-q")
        assert (result.exit_code, result.output) == (0, "")
        text = (tmp_path / f"out.{kind}").read_text(encoding="utf-8")
        if kind == "html":
            assert '<meta name="generator" content="diverset">' in text
            notes = json.loads(run(*command, "--json").stdout)["notes"]
            shown = text.replace("&#39;", "'").replace("&#34;", '"')
            assert all(note in shown for note in notes)  # one channel for the terminal and the page
        if kind == "json":
            assert json.loads(text).keys() >= {"notes"}
    missing = run(*command, "-o", "nowhere/out.json")
    assert missing.exit_code == 2
    assert re.fullmatch(r"diverset: error: [^\n]*nowhere[^\n]*\n", missing.stderr)


def test_an_option_of_one_name_is_of_one_kind():
    kinds = {}
    for command in app.registered_commands:
        for parameter in inspect.signature(command.callback).parameters.values():
            option = parameter.annotation.__metadata__[0]
            # Inside Annotated, Typer keeps the first name of an option where its default would be.
            names = (getattr(option, "default", None), *(getattr(option, "param_decls", None) or ()))
            names = [name for name in names if isinstance(name, str)] or [f"--{parameter.name.replace('_', '-')}"]
            for name in names:
                kinds.setdefault(name, {})[command.callback.__name__] = parameter.annotation.__origin__
    for name in ("--cache", "--seed", "--text", "--id", "--json", "--quiet", "--force", "--encoding", "--embeddings"):
        own = {verb: kind for verb, kind in kinds[name].items() if (verb, name) not in LISTED}
        assert len(set(own.values())) == 1, (name, own)
    for name in ("-o", "--seed", "-k", "--json"):
        assert set(VERBS) <= set(kinds[name]) | ({"summarize"} if name == "-k" else set())


#: Embeddings are a file for rows, and a file or a model for images and sentences.
LISTED = {("select", "--embeddings"), ("sample", "--embeddings"), ("compare", "--embeddings")}


@pytest.mark.parametrize("verb", ["select", "thread"])
def test_raw_cells_leave_formulas_as_they_are(run, tmp_path, verb):
    for name, column in (("rows", "note"), ("news", "title")):
        path = tmp_path / f"{name}.jsonl"
        rows = [json.loads(line) | {column: "=1+1"} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for flags, cell in (([], "'=1+1"), (["--raw-cells"], "=1+1")):
        assert run(*COMMANDS[verb], *flags, "-o", "out.csv").exit_code == 0
        with (tmp_path / "out.csv").open(newline="") as file:
            assert {row.get("note", row.get("title")) for row in csv.DictReader(file)} == {cell}
    piped = run(*COMMANDS["select"], "--raw-cells", "-o", "-").stdout
    assert {row["note"] for row in csv.DictReader(io.StringIO(piped))} == {"=1+1"}


def test_an_input_is_not_overwritten_without_force(run, tmp_path):
    before = (tmp_path / "rows.jsonl").read_bytes()
    result = run("select", *ROWS, "-o", "rows.jsonl")
    assert result.exit_code == 2
    assert re.fullmatch(r"diverset: error: [^\n]*--force[^\n]*\n", result.stderr)
    assert (tmp_path / "rows.jsonl").read_bytes() == before
    assert run("select", *ROWS, "-o", "rows.jsonl", "--force", "-q").exit_code == 0
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 4


def test_caches_are_shown_and_cleared(run, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert run("images", "images", "-k", "2", "-q").exit_code == 0
    shown = run("cache")
    assert re.search(r"[1-9]\d* files, [\d,]+ bytes", shown.stdout), shown.output
    cleared = run("cache", "--clear")
    assert re.match(r"[1-9][\d,]* bytes deleted", cleared.stdout), cleared.output
    assert ": 0 files" in run("cache").stdout


def in_a_process(*arguments, cwd, **environment):
    own = {key: value for key, value in os.environ.items() if key not in ("HOME", "XDG_CACHE_HOME")}
    command = [sys.executable, "-m", "diverset", *arguments]
    return subprocess.run(command, cwd=cwd, env=own | environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="homes are found differently there")
def test_without_a_home_directory_work_goes_on(run, tmp_path):
    for verb in ("thread", "images"):
        done = in_a_process(*COMMANDS[verb][:-1], *COMMANDS[verb][-1:], cwd=tmp_path, HOME="/nonexistent/home")
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_works(tmp_path, shell):
    script = in_a_process("completion", shell, cwd=tmp_path)
    assert script.returncode == 0, script.stderr
    assert "_DIVERSET_COMPLETE" in script.stdout
    if shell == "bash":
        words = {"_DIVERSET_COMPLETE": "complete_bash", "COMP_WORDS": "diverset sum", "COMP_CWORD": "1"}
        code = "from diverset.cli import main; main()"
        done = subprocess.run([sys.executable, "-c", code], env=os.environ | words, capture_output=True, text=True)
        assert done.stdout.split() == ["summarize"]


def test_a_lost_scheduler_is_one_line_and_exit_code_1(run, tmp_path):
    pytest.importorskip("distributed")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(50, 3)))
    result = run("select", "x.npy", "-k", "3", "--dask", "tcp://127.0.0.1:9")
    assert result.exit_code == 1
    assert re.fullmatch(r"diverset: error: --dask tcp://127\.0\.0\.1:9: no scheduler answers[^\n]*\n", result.stderr)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], *([verb, "--help"] for verb in VERBS)])
def test_help_is_cheap(tmp_path, arguments):
    code = (
        "import sys, time\nfrom diverset.cli import app\ntry: app(sys.argv[1:], prog_name='diverset')\n"
        "except SystemExit: pass\nprint('MODULES', *sys.modules, file=sys.stderr)\n"
        "print(time.process_time(), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    *_, modules, seconds = done.stderr.splitlines()
    assert not {"scipy", "pandas", "jinja2", "pyarrow", "sklearn", "matplotlib"} & set(modules.split())
    assert float(seconds) < 1.0


@pytest.mark.slow
def test_a_scheduler_that_dies_at_work_is_one_line_and_exit_code_1(run, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    from diverset.cli import picks

    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(50, 3)))
    pick = picks.pick_blocks
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, host="127.0.0.1", protocol="tcp://", dashboard_address=None
    ) as cluster:

        def lose_it(*arguments, **options):
            cluster.close()
            return pick(*arguments, **options)

        monkeypatch.setattr(picks, "pick_blocks", lose_it)
        address = cluster.scheduler_address
        assert address.startswith("tcp://")
        result = run("select", "x.npy", "-k", "3", "--dask", address)
    assert result.exit_code == 1, result.output
    line = result.stderr.splitlines()[-1]
    assert re.match(rf"diverset: error: --dask {re.escape(address)}: .*lost", line)
    assert "Traceback" not in result.stderr
