"""One fault at a time put into the source, to see whether the quick tests of its package notice: ``make mutants``.

A fault changes one comparison, operator, number or ``and``/``or``. Compiled loops, messages of errors and docstrings
are left alone. Survivors are printed. Some are harmless (a memory estimate, a faster route that gives the same
answer); the others are holes in the tests.
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

    def __str__(self) -> str:
        text = self.path.read_bytes()
        line = text[: self.start].count(b"\n") + 1
        where = text.splitlines()[line - 1].decode().strip()
        return f"{self.path.relative_to(ROOT)}:{line}: {self.old} -> {self.new} in: {where}"


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


def tested(mutant: Mutant, package: str, timeout: float) -> str:
    """``caught``, ``timeout`` (also seen) or ``survived``."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.c"))
        text = mutant.path.read_bytes()
        changed = text[: mutant.start] + mutant.new.encode() + text[mutant.end :]
        (source / mutant.path.relative_to(ROOT / "src")).write_bytes(changed)
        # Tests that are named after the module come first.
        folders = [
            ROOT / "tests" / name for name in (package, *ALSO.get(package, ())) if (ROOT / "tests" / name).exists()
        ]
        files = sorted(
            (file for name in folders for file in name.rglob("test_*.py")),
            key=lambda file: mutant.path.stem.strip("_") not in file.stem,
        )
        options = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:randomly"]
        environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT / 'tests'}"}
        command = [sys.executable, "-m", "pytest", *options, *map(str, files)]
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return "timeout"
    return "survived" if done.returncode == 0 else "caught"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    parser.add_argument("--count", type=int, default=20, help="faults per package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for the tests of one fault")
    given = parser.parse_args()
    seen: Counter[str] = Counter()
    for package in given.packages:
        files = [path for path in sorted((ROOT / "src/diverset" / package).rglob("*.py")) if "_loops" not in path.stem]
        found = [mutant for path in files for mutant in mutants_of(path)]
        for mutant in random.Random(given.seed).sample(found, min(given.count, len(found))):
            outcome = tested(mutant, package, given.timeout)
            seen[outcome] += 1
            print(f"{outcome:9} {mutant}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in seen.items()))


if __name__ == "__main__":
    main()
