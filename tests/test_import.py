"""Importing diverset is light, and everything it promises is there."""

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import diverset

HEAVY = [
    "llvmlite",
    "sklearn",
    "matplotlib",
    "PIL",
    "pandas",
    "rich",
    "typer",
    "dask",
    "distributed",
    "scipy",
    "importlib.metadata",
    "concurrent.futures",
    "diverset.io",
    "diverset.pages",
    "diverset.cli",
    "diverset.plots",
]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(diverset.__path__, "diverset.")
    if not module.name.endswith("__main__")
)


def modules_loaded_by(statement):
    """Names of all modules that a fresh interpreter imports for a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def heavy_among(loaded, heavy=HEAVY):
    return {name for name in loaded if any(name == top or name.startswith(f"{top}.") for top in heavy)}


def test_the_list_of_loaded_modules_is_read():
    loaded = modules_loaded_by("import diverset; diverset.DPP")
    assert {"numpy", "diverset", "diverset.core.dpp"} <= loaded
    assert "matplotlib" in modules_loaded_by("import matplotlib")
    assert heavy_among({"scipy.linalg", "scipython", "rich"}) == {"scipy.linalg", "rich"}


def test_import_is_light(monkeypatch):
    monkeypatch.delenv("DIVERSET_UNCOMPILED", raising=False)  # which loads a module that the import does not need
    loaded = modules_loaded_by("import diverset")
    assert {name for name in loaded if name.startswith("diverset")} == {"diverset", "diverset._on_use"}
    assert not heavy_among(loaded)


ROWS = "import numpy as np; rows = np.sin(np.arange(3200.0) ** 2).reshape(100, 32); scores = np.cos(np.arange(100.0))"
SELECT = f"{ROWS}; import diverset as dv; dv.select(rows, 10, quality=scores); dv.select(rows)"
DRAW = f"{ROWS}; import diverset as dv; dv.KDPP(rows @ rows.T, 10).sample(100, rng=0)"


@pytest.mark.parametrize("statement", [SELECT, DRAW], ids=["select", "k-DPP draws"])
def test_common_calls_need_numpy_alone(statement):
    unneeded = [*HEAVY, "numpy.f2py", "numpy.ma", "numpy.testing", "pathlib"]
    loaded = modules_loaded_by(statement) - modules_loaded_by("import numpy")
    assert "diverset.numerics.validation" in loaded
    assert not heavy_among(loaded, unneeded)


def test_probabilities_need_no_more_of_scipy_than_linear_algebra():
    call = (
        "dpp = dv.DPP(rows[:, :20] @ rows[:, :20].T); dpp.log_prob([1, 2]); dpp.inclusion_probabilities; dpp.sample()"
    )
    loaded = modules_loaded_by(f"{ROWS}; import diverset as dv; {call}; dpp.size_distribution")
    assert "scipy.linalg" in loaded
    loaded -= modules_loaded_by("import scipy.linalg")  # SciPy 1.15 loads its sparse arrays with it
    assert not heavy_among(loaded, ["scipy.special", "scipy.sparse", "scipy.optimize", "scipy.spatial", "scipy.stats"])


def test_calls_leave_no_file_behind(tmp_path):
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR")}
    subprocess.run(
        [sys.executable, "-c", f"{SELECT}; dv.KDPP(rows @ rows.T, 10).sample(100, rng=0)"],
        env=os.environ | home | {"PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        check=True,
    )
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("name", ["diverset", *MODULES])
def test_every_public_name_exists(name):
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    for public in names:
        assert getattr(module, public) is not None


def test_public_names_are_listed():
    assert {"DPP", "KDPP", "SizedDPP", "KDPPMixture", "map_greedy", "kernels"} <= set(dir(diverset))
    assert set(diverset.__all__) <= set(dir(diverset))


def names_in(package):
    """Names imported for the type checker, the same on use (modules relative to the package), and submodules on use."""
    tree = ast.parse(Path(importlib.import_module(package).__file__).read_text(encoding="utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    typed = {f"{node.module}.{alias.name}".removeprefix(f"{package}.") for node in branch.body for alias in node.names}
    call = branch.orelse[0].value
    modules = ast.literal_eval(call.args[1])
    submodules = {name for keyword in call.keywords for name in ast.literal_eval(keyword.value)}
    return typed, {f"{module}.{name}" for module, names in modules.items() for name in names}, submodules


@pytest.mark.parametrize(
    "package",
    ["diverset", "diverset.core", "diverset.inference", "diverset.numerics", "diverset.text", "diverset.threads"],
)
def test_names_on_use_are_those_of_the_type_checker(package):
    typed, on_use, submodules = names_in(package)
    assert typed == on_use | submodules
    names = {name.rpartition(".")[2] for name in on_use}
    module = importlib.import_module(package)
    assert names <= set(module.__all__)
    assert names | submodules <= set(dir(module))
    # A submodule of the same name would take the place of what it should export.
    assert not names & {info.name for info in pkgutil.iter_modules(module.__path__)}


def test_a_name_is_looked_up_once():
    statement = "import diverset as dv; dv.Selection; assert 'Selection' in vars(dv); assert 'KDPP' not in vars(dv)"
    subprocess.run([sys.executable, "-c", statement], check=True)


def test_select_is_the_function_whatever_is_imported_first():
    statement = "import diverset.inference.select; import diverset as dv; assert callable(dv.inference.select)"
    subprocess.run([sys.executable, "-c", f"{statement}; assert callable(dv.select)"], check=True)


@pytest.mark.parametrize("package", ["diverset", "diverset.core"])
def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'unknown'"):
        importlib.import_module(package).unknown  # noqa: B018


def test_modules_are_found():
    assert {"diverset.core.dpp", "diverset.numerics.symmetric", "diverset.cli.demo"} <= set(MODULES)
