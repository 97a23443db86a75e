# Everything runs in .venv, which is made on first use; a second run starts at once.
# Needs only make and Python 3.11 or newer: `make demo PYTHON=python3.12` picks another interpreter.

PYTHON ?= python3
VENV := .venv
DATA ?= $(or $(DIVERSET_DATA),../shared/data)
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The loops are compiled with the NumPy and SciPy of .venv: a build environment of pip's own would install both again.
INSTALL := $(PIP_INSTALL) --no-build-isolation --editable
# One thread per worker: two pytest workers that each start a BLAS pool only get in each other's way.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

.PHONY: help demo test test-all test-loops test-lowest fuzz bench docs experiments dist lint clean
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help:
	@echo "make demo         ten diverse cities, a summary and threads of news: a map and pages in demo-output/"
	@echo "make test         lint, types and the quick tests"
	@echo "make test-all     the same with the slow tests and more frameworks, then test-loops"
	@echo "make test-loops   the compiled loops: uncompiled, by other instruction sets, with bounds checks and a sanitizer"
	@echo "make test-lowest  the quick tests with the lowest versions named in pyproject.toml, in an environment of their own"
	@echo "make bench        speed and accuracy, beside other libraries"
	@echo "make docs         the documentation, in docs/_build/html"
	@echo "make experiments  every module of experiments/, on the public data in DATA=../shared/data"
	@echo "make fuzz         the fuzzers of tests/trust with many more inputs (FUZZ=1000 a function)"
	@echo "make mutants      one fault at a time in the source: which ones the quick tests miss (MUTANTS=20 a package)"
	@echo "make dist         wheel and sdist in dist/, and the tests on the installed wheel alone"
	@echo "make lint         ruff and mypy only"
	@echo "make clean        remove .venv and all that was built"

demo: $(VENV)/.demo
	@mkdir -p demo-output
	$(BIN)/diverset demo -o demo-output/diverset-demo.png

test: lint
	$(PYTEST) -m "not slow"

test-all: lint $(VENV)/.frameworks
	$(PYTEST)
	$(MAKE) test-loops

# Tests of the loops, with fewer draws: uncompiled, with the instructions that every processor has, with bounds checks,
# and with the address sanitizer.
LOOP_TESTS := tests/numerics tests/core tests/inference tests/sampling tests/structured tests/theory/processes
ASAN = $(shell $(or $(CC),cc) -print-file-name=libasan.so)
# Without it the sanitizer cannot see exceptions of C++ libraries such as Matplotlib's.
STDCXX = $(shell $(or $(CC),cc) -print-file-name=libstdc++.so.6)
test-loops: $(VENV)/.test
	DIVERSET_UNCOMPILED=1 $(PYTEST) -m "not slow" tests/numerics tests/core
	DIVERSET_SIMD=baseline $(PYTEST) -m "not slow" $(LOOP_TESTS)
	DIVERSET_SIMD=avx2 $(PYTEST) -m "not slow" $(LOOP_TESTS)
	DIVERSET_BUILD=checked $(PIP_INSTALL) --no-build-isolation --no-deps --upgrade --target build/checked .
	cp -r tests build/checked/ && cd build/checked && PYTHONPATH=. $(abspath $(BIN))/python -m pytest -n 2 -m "not slow" -c $(CURDIR)/pyproject.toml --rootdir . $(LOOP_TESTS)
	DIVERSET_BUILD=sanitized $(PIP_INSTALL) --no-build-isolation --no-deps --upgrade --target build/sanitized .
	cp -r tests build/sanitized/ && cd build/sanitized && PYTHONPATH=. LD_PRELOAD="$(ASAN) $(STDCXX)" ASAN_OPTIONS=detect_leaks=0 $(abspath $(BIN))/python -m pytest -n 2 -m "not slow" -c $(CURDIR)/pyproject.toml --rootdir . $(LOOP_TESTS)

# An environment with the lowest version of every direct dependency. uv resolves them; pip has no such option. Only
# wheels: old releases without one for this Python would need compilers that few machines have.
LOWEST := build/lowest
# Named once more, since uv takes only what is asked for by name as direct.
LOWEST_EXTRAS := dask,graphs,haystack,images,langchain,plots,sklearn,tables,text,topics
test-lowest: $(VENV)/.pip
	rm -rf $(LOWEST) && mkdir -p $(LOWEST) && cp -r src tests docs examples experiments benchmarks conftest.py setup.py pyproject.toml README.md LICENSE $(LOWEST)
	find $(LOWEST)/src -name '*.so' -delete
	$(PIP_INSTALL) "uv>=0.5"
	$(BIN)/uv venv --quiet --python $(PYTHON) $(LOWEST)/.venv
	cd $(LOWEST) && VIRTUAL_ENV=$$PWD/.venv $(abspath $(BIN))/uv pip install --quiet --resolution lowest-direct --only-binary :all: --group build
	cd $(LOWEST) && VIRTUAL_ENV=$$PWD/.venv $(abspath $(BIN))/uv pip install --quiet --resolution lowest-direct --only-binary :all: --no-binary diverset --no-build-isolation --editable ".[$(LOWEST_EXTRAS)]" --group test
	cd $(LOWEST) && OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 -m "not slow" tests

FUZZ ?= 1000
fuzz: $(VENV)/.test
	DIVERSET_FUZZ=$(FUZZ) $(PYTEST) tests/trust/test_fuzz_functions.py tests/trust/test_fuzz_readers.py
	$(BIN)/python tests/trust/combinations.py --calls $$((100 * $(FUZZ)))

MUTANTS ?= 20
mutants: $(VENV)/.test
	$(PIP_INSTALL) "coverage>=7.4"
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/trust/mutants.py --count $(MUTANTS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=src $(BIN)/mypy --config-file /dev/null --ignore-missing-imports --follow-imports=silent docs/snippets examples # as users see the types

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks run

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -b html -W --keep-going -n -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

experiments: $(VENV)/.experiments
	@for script in experiments/*/__main__.py; do \
	  module=$$(dirname "$$script" | tr / .); \
	  echo "== $$module"; $(BIN)/python -m "$$module" --data "$(DATA)" --out docs/images || exit 1; \
	done

# The wheel is tried where nothing of the source tree can stand in for a file that was left out of it.
INSTALLED := build/installed
dist: $(VENV)/.dist
	rm -rf dist $(INSTALLED)
	$(BIN)/python -m build --outdir dist .
	mkdir -p $(INSTALLED) && cp -r tests pyproject.toml $(INSTALLED)
	$(PYTHON) -m venv $(INSTALLED)/.venv
	$(INSTALLED)/.venv/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(INSTALLED)/.venv/bin/python -m pip install --quiet dist/*.whl --group $(INSTALLED)/pyproject.toml:test
	cd $(INSTALLED) && OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 -m "not slow" tests

clean:
	rm -rf $(VENV) demo-output docs/_build docs/auto_examples docs/api/generated docs/sg_execution_times.rst
	find src -name '*.so' -delete
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment, one stamp per set of dependencies.

$(VENV)/.pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "diverset needs Python 3.11 or newer, and '$(PYTHON)' is not; try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "'$(PYTHON) -m venv' failed; is the venv module installed?" >&2; exit 1; }
	@echo "Installing into $(VENV), once ..."
	@$(PIP_INSTALL) --upgrade "pip>=25.1"
	@$(PIP_INSTALL) --group build
	@touch $@

# What the compiled loops are made from; a change of these installs anew, which compiles only what changed.
LOOPS := setup.py $(wildcard src/diverset/*/_*loops.py src/diverset/*/*/_*loops.py src/diverset/numerics/*.h src/diverset/numerics/*.pxd)

$(VENV)/.demo: $(VENV)/.pip pyproject.toml $(LOOPS)
	@$(INSTALL) ".[plots,text]"
	@$(BIN)/diverset --version
	@touch $@

$(VENV)/.experiments: $(VENV)/.pip pyproject.toml $(LOOPS)
	@$(INSTALL) ".[images,plots,text]"
	@$(BIN)/diverset --version
	@touch $@

$(VENV)/.test $(VENV)/.frameworks $(VENV)/.docs $(VENV)/.bench $(VENV)/.dist: $(VENV)/.%: $(VENV)/.pip pyproject.toml $(LOOPS)
	@$(INSTALL) ".[plots]" --group $*
	@$(BIN)/diverset --version
	@touch $@
