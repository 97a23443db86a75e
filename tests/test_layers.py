"""Layers import only from those above them."""

import ast
from pathlib import Path

import pytest

import diverset

PACKAGE = Path(diverset.__file__).parent
# What each part of the package may import at module level, besides itself.
BASE = {"_extras", "_on_use", "_plain_cython", "_progress", "_result", "_typing", "_uncompiled", "errors"}
ALLOWED = {
    "_on_use": set(),
    "_plain_cython": set(),
    "_progress": set(),
    "_extras": {"errors"},
    "_result": {"errors"},
    "_typing": set(),
    "_uncompiled": {"errors"},
    "errors": set(),
    "numerics": BASE,
    "kernels": BASE | {"numerics"},
    "core": BASE | {"numerics", "kernels"},
    "sampling": BASE | {"numerics", "kernels", "core"},
    "inference": BASE | {"numerics", "kernels", "core"},
    "distributed": BASE | {"numerics", "kernels", "core", "sampling", "inference"},
    "structured": BASE | {"numerics", "core", "sampling"},
    "poses": BASE | {"numerics", "structured"},
    "threads": BASE | {"io", "numerics", "core", "structured", "text"},
    "baselines": BASE | {"numerics", "kernels", "core", "inference"},
    "metrics": BASE | {"io", "numerics", "kernels", "core", "inference", "baselines"},
    "learn": BASE | {"io"} | {"numerics", "kernels", "core"},
    "text": BASE | {"io", "numerics", "kernels", "core", "sampling", "inference", "baselines", "learn"},
    "images": BASE | {"io", "numerics", "kernels", "inference"},
    "integrations": BASE | {"numerics", "kernels", "core", "sampling", "inference"},
    "theory": BASE | {"numerics", "kernels", "core", "sampling", "inference", "structured"},
    "plots": BASE | {"numerics", "kernels", "core", "sampling", "inference", "structured", "diverset"},
    "io": BASE | {"numerics"},
    "pages": BASE | {"numerics", "inference", "metrics", "diverset", "images", "io", "text", "threads"},
    "cli": BASE
    | {"numerics", "core", "inference", "metrics", "diverset", "images", "io", "pages", "plots", "text", "threads"},
    "__main__": {"cli"},
    "diverset": BASE | {"numerics", "kernels", "core", "sampling", "inference", "structured"},
}
# A distribution's own `sample` method may reach down for its sampler, if it does so inside the method.
# Features in blocks, likewise, bring a whole way of execution with them. `--version` asks which loops are in use.
ALLOWED_INSIDE_FUNCTIONS = {
    "core": {"sampling", "distributed"},
    "inference": {"distributed"},
    "cli": {"numerics"},
    "threads": {"inference"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(parts):
    """Part of the package that a dotted name inside it belongs to; 'diverset' for its root."""
    return parts[0] if parts else "diverset"


def imports_of(source, package):
    """Pairs of an imported part and whether the import is inside a function.

    ``package`` holds the names below ``diverset`` of the package that the source is in. Imports for
    the type checker only are left out.
    """
    found = []

    def visit(node, inside):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                visit(child, inside)
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, *rest = alias.name.split(".")
                if root == "diverset":
                    found.append((part_of(rest), inside))
        if isinstance(node, ast.ImportFrom):
            found.extend((part, inside) for part in parts_named(node, package))
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(ast.parse(source), False)
    return found


def parts_named(node, package):
    names = node.module.split(".") if node.module else []
    if node.level:
        names = ["diverset", *package[: len(package) - node.level + 1], *names]
    if not names or names[0] != "diverset":
        return []
    if len(names) > 1:
        return [names[1]]
    # "from diverset import core" names a part, "from diverset import DPP" the root.
    return [alias.name if alias.name in ALLOWED else "diverset" for alias in node.names]


def faults_in(source, path):
    """Imports in a file, given by its path below the package, that go against the layers."""
    part = part_of([] if path == Path("__init__.py") else [path.with_suffix("").parts[0]])
    faults = []
    for target, inside in imports_of(source, list(path.parent.parts)):
        allowed = ALLOWED[part] | {part}
        if inside:
            allowed = allowed | ALLOWED_INSIDE_FUNCTIONS.get(part, set())
        if target not in allowed:
            faults.append(f"{path} imports {target}")
    return faults


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_file_keeps_to_its_layer(path):
    assert faults_in(path.read_text(encoding="utf-8"), path.relative_to(PACKAGE)) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("numerics/a.py", "from diverset.core import dpp"),
        ("numerics/a.py", "def f():\n    import diverset.core"),
        ("core/a.py", "from diverset.sampling import spectral"),
        ("core/a.py", "from ..sampling import spectral"),
        ("core/a.py", "def f():\n    from diverset import plots"),
        ("core/a.py", "import diverset as dv"),
        ("sampling/a.py", "from diverset.inference import greedy"),
        ("plots/a.py", "from diverset.demo import run as demo"),
        ("__init__.py", "from diverset import cli"),
    ],
)
def test_a_fault_is_seen(path, source):
    assert len(faults_in(source, Path(path))) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/a.py", "def f():\n    from diverset.sampling import spectral"),
        ("core/a.py", "if TYPE_CHECKING:\n    from diverset.sampling import spectral"),
        ("core/a.py", "from . import dense\nfrom ..numerics import linalg\nimport numpy"),
        ("cli/a.py", "import diverset as dv\nfrom diverset.plots import place_labels"),
    ],
)
def test_what_is_allowed_passes(path, source):
    assert faults_in(source, Path(path)) == []


def test_every_part_is_known():
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES}
    assert parts - {"__init__"} <= set(ALLOWED)
