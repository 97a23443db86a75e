"""Importing diverset is light, and everything it promises is there."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import diverset

HEAVY = [
    "numba",
    "llvmlite",
    "sklearn",
    "matplotlib",
    "PIL",
    "pandas",
    "rich",
    "typer",
    "dask",
    "distributed",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.stats",
    "diverset.apps",
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
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", statement], capture_output=True, text=True, check=True
    )
    lines = [line for line in run.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip() for line in lines}


@pytest.fixture(scope="module")
def loaded():
    return modules_loaded_by("import diverset")


def test_the_list_of_loaded_modules_is_read(loaded):
    assert {"numpy", "diverset", "diverset.errors"} <= loaded
    assert "matplotlib" in modules_loaded_by("import matplotlib")


@pytest.mark.parametrize("heavy", HEAVY)
def test_import_is_light(loaded, heavy):
    assert not {name for name in loaded if name == heavy or name.startswith(f"{heavy}.")}


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


def test_modules_are_found():
    assert {"diverset.core.dpp", "diverset.numerics.symmetric", "diverset.apps.demo"} <= set(MODULES)
