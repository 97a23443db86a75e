"""Outputs are whole or absent: on a full disk, after a kill, and beside what was there before."""

import os
import signal
import subprocess
import sys

import pytest

N_ROWS = 3000
#: A full disk for one process: no file may grow beyond this. Python turns the signal off, and writing fails.
FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
COMMAND = "from diverset.cli import main; main()"


@pytest.fixture
def rows(tmp_path):
    file = tmp_path / "rows.csv"
    lines = [f"{i},{i % 7},{i % 11},{i * 37 % 101}" for i in range(N_ROWS)]
    file.write_text("\n".join(["name,a,b,score", *lines]), encoding="utf-8")
    return file


def run(code, *arguments, **options):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    ("extension", "before"), [("csv", None), *((ext, "what was there") for ext in ("jsonl", "parquet", "html"))]
)
def test_a_full_disk_costs_no_old_output(rows, tmp_path, extension, before):
    if extension == "parquet":
        pytest.importorskip("pyarrow")
    folder = tmp_path / "out"
    folder.mkdir()
    output = folder / f"picks.{extension}"
    if before is not None:
        output.write_text(before)
    done = run(FULL + COMMAND, "select", rows, "-k", 500, "--features", "a,b", "--id", "name", "-o", output)
    assert done.returncode == 2, done.stderr
    assert "error" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert os.listdir(folder) == ([] if before is None else [output.name])
    assert before is None or output.read_text() == before


def test_a_full_disk_costs_no_old_model(tmp_path):
    code = FULL + (
        "import sys, diverset as dv\n"
        "model = dv.learn.IndependentItems().fit([[0], [1]], n_items=2000)\n"
        "try:\n    dv.learn.save_model(model, sys.argv[1])\nexcept OSError as error:\n    print('refused', error)\n"
    )
    target = tmp_path / "m.dvm"
    target.write_text("old")
    done = run(code, target)
    assert done.stdout.startswith("refused"), done.stderr
    assert (target.read_text(), os.listdir(tmp_path)) == ("old", ["m.dvm"])


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals that cannot be caught")
def test_a_kill_in_the_middle_of_writing_leaves_the_old_file(tmp_path):
    code = (
        "import sys, time\nfrom diverset.io.files import atomic_write\n"
        "with atomic_write(sys.argv[1]) as temporary:\n"
        "    with open(temporary, 'w') as file:\n"
        "        file.write('half of it'); file.flush(); print('writing', flush=True); time.sleep(60)\n"
    )
    target = tmp_path / "out.txt"
    target.write_text("old")
    with subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert target.read_text() == "old"


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent differently there")
def test_an_interrupt_ends_a_long_command_at_once_and_quietly(tmp_path):
    rows = tmp_path / "rows.csv"
    lines = [",".join(f"{(i * (j + 3)) % 97}" for j in range(12)) for i in range(75)]
    rows.write_text("\n".join([",".join("abcdefghijkl"), *lines]), encoding="utf-8")
    output = tmp_path / "out.csv"
    # The interrupt comes when the command is at work, however long imports took.
    code = (
        "import os, signal, threading\nfrom diverset.cli import main\nimport diverset.cli.picks\n"
        "threading.Timer(4.0, os.kill, (os.getpid(), signal.SIGINT)).start()\nmain()\n"
    )
    done = run(code, "select", rows, "-k", "37", "--features", "a:l", "--method", "exact", "-o", output, timeout=120)
    if done.returncode == 0:
        pytest.skip("it was done before the interrupt")
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert not output.exists()


def test_progress_is_quiet_when_nobody_watches(rows, tmp_path):
    done = run(COMMAND, "select", rows, "-k", 5, "--features", "a,b", "-o", tmp_path / "picks.csv")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "..." not in done.stderr
