"""One fault at a time put into the source, to see whether the quick tests of its package notice: ``make mutants``.

A fault changes one comparison, operator, number or ``and``/``or``. Compiled loops, messages of errors and docstrings
are left alone. A fault meets those tests of its package that execute its line. Survivors are printed. Some are
harmless (a memory estimate, a faster route that gives the same answer); the others are holes in the tests.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "numerics", "sampling", "inference", "structured", "learn")
#: Folders of tests that belong to a package, beside the one of its name.
ALSO = {"numerics": ("core",)}
SWAPS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A change of the text between two offsets of a file."""

    path: Path
    start: int
    end: int
    old: str
    new: str

    @property
    def line(self) -> int:
        return self.path.read_bytes()[: self.start].count(b"\n") + 1

    def __str__(self) -> str:
        where = self.path.read_text().splitlines()[self.line - 1].strip()
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.old} -> {self.new} in: {where}"


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that compute something: no annotations, messages of errors, or docstrings."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.Raise, ast.Import, ast.ImportFrom, ast.arg, ast.JoinedStr)):
            continue
        if isinstance(child, ast.AnnAssign):
            if child.value is not None:
                yield child.value
                yield from nodes(child.value)
            continue
        yield child
        yield from nodes(child)


def mutants_of(path: Path) -> Iterator[Mutant]:
    text = path.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    for node in nodes(ast.parse(text)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            old = ast.get_source_segment(text.decode(), node) or ""
            new = str(node.value + 1) if isinstance(node.value, int) else repr(2.0 * node.value + (node.value == 0.0))
            start = place(node.lineno, node.col_offset)
            yield Mutant(path, start, start + len(old.encode()), old, new)
            continue
        if isinstance(node, ast.Compare):
            operands, operators = [node.left, *node.comparators], list(node.ops)
        elif isinstance(node, ast.BinOp):
            operands, operators = [node.left, node.right], [node.op]
        elif isinstance(node, ast.BoolOp):
            operands, operators = list(node.values), [node.op] * (len(node.values) - 1)
        else:
            continue
        for left, right, operator in zip(operands, operands[1:], operators, strict=False):
            if type(operator) not in SWAPS:
                continue
            old, new = SWAPS[type(operator)]
            first, last = place(left.end_lineno or 0, left.end_col_offset or 0), place(right.lineno, right.col_offset)
            at = text.find(old.encode(), first, last)
            if at >= 0:
                yield Mutant(path, at, at + len(old), old, new)


def folders_of(package: str) -> list[str]:
    """Folders of tests that belong to a package."""
    return [str(ROOT / "tests" / name) for name in (package, *ALSO.get(package, ()))]


def pytest_of(source: Path) -> tuple[list[str], dict[str, str]]:
    """Options of pytest and an environment, for tests that import diverset from `source`."""
    options = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
    return options, {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT / 'tests'}"}


def covering_tests(package: str, source: Path) -> dict[str, dict[int, list[str]]]:
    """For each file of a package and each line, the test functions that execute the line, fastest first.

    One run of the package's tests under ``coverage``, with one context per test function.
    """
    from coverage import CoverageData

    folder = Path(tempfile.mkdtemp())
    settings, data, report = folder / "coveragerc", folder / "data", folder / "times.xml"
    settings.write_text(
        f"[run]\ndynamic_context = test_function\nsource = {source / 'diverset' / package}\ndata_file = {data}\n"
    )
    options, environment = pytest_of(source)
    command = [sys.executable, "-m", "coverage", "run", "--rcfile", str(settings), "-m", "pytest", *options]
    command += [f"--junit-xml={report}", *folders_of(package)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the tests of {package} fail without any fault:\n{done.stdout[-2000:]}")
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name', '').split('[')[0]}"
        seconds[name] += float(case.get("time", "0"))
    names = {name.removeprefix("tests."): name for name in seconds}
    found = CoverageData(str(data))
    found.read()
    lines: dict[str, dict[int, list[str]]] = {}
    for file in found.measured_files():
        key = str(Path(file).relative_to(source))
        for line, contexts in found.contexts_by_lineno(file).items():
            tests = {names[c.removeprefix("tests.")] for c in contexts if c.removeprefix("tests.") in names}
            lines.setdefault(key, {})[line] = sorted(tests, key=lambda name: (seconds[name], name))
    shutil.rmtree(folder)
    return lines


def tested(mutant: Mutant, tests: list[str], source: Path, timeout: float) -> str:
    """``caught``, ``survived``, ``timeout`` (the fault hangs) or ``not covered`` (no test executes the line)."""
    if not tests:
        return "not covered"
    options, environment = pytest_of(source)
    nodes_of_tests = [f"{name.rpartition('.')[0].replace('.', '/')}.py::{name.rpartition('.')[2]}" for name in tests]
    command = [sys.executable, "-m", "pytest", *options, *nodes_of_tests]
    path = source / mutant.path.relative_to(ROOT / "src")
    text = mutant.path.read_bytes()
    path.write_bytes(text[: mutant.start] + mutant.new.encode() + text[mutant.end :])
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        path.write_bytes(text)
    return "survived" if done.returncode == 0 else "caught"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    parser.add_argument("--count", type=int, default=20, help="faults per package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for the tests of one fault")
    given = parser.parse_args()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.c"))
        for package in given.packages:
            covering = covering_tests(package, source)
            files = sorted((ROOT / "src/diverset" / package).rglob("*.py"))
            found = [mutant for path in files if "_loops" not in path.stem for mutant in mutants_of(path)]
            for mutant in random.Random(given.seed).sample(found, min(given.count, len(found))):
                lines = covering.get(str(mutant.path.relative_to(ROOT / "src")), {})
                outcome = tested(mutant, lines.get(mutant.line, []), source, given.timeout)
                seen[outcome] += 1
                print(f"{outcome:11} {mutant}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in seen.items()))


if __name__ == "__main__":
    main()
