# Everything runs in `.venv`, made on first use. Only Python (3.10 or newer) and make are needed.

PYTHON ?= python3
PYTEST_ARGS ?= -n 2
BENCH ?= compile quick quality everyday mixed texts solvers posterior extension trust files trace
ARGS ?= all --jobs 2
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The tests run in two processes: one linear-algebra thread each is what two cores can carry. soffit
# and numba use two, as they do where users fit: some mistakes show with several threads only.
TEST_THREADS := OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=2

# Tests of kernels that end within a minute when no kernel is compiled.
NOJIT_TESTS := tests/test_graph.py tests/affinity/test_connect.py tests/affinity/test_pixels.py \
  tests/factorize/test_quadratic.py tests/factorize/divergence/test_em_kernels.py \
  tests/factorize/nonnegative/test_nonnegative_kernels.py tests/factorize/simplex/test_kernels.py \
  tests/factorize/tuples tests/memberships/test_em_steps.py tests/memberships/test_walk.py \
  tests/neighbors/test_trees.py tests/partition/test_label_sweeps.py tests/selection/test_valleys.py

# Tests through which the kernels of all models run, on input as bad as users can make it.
BOUNDS_TESTS := tests/models/test_hostile_input.py tests/models/test_impossible_input.py \
  tests/neighbors/test_approximate.py

# Tests that meet every dependency: files, frames, graphs, kernels, models, the command.
OLDEST_TESTS := tests/test_inputs.py tests/test_graph.py tests/test_compile.py tests/io \
  tests/affinity tests/normalize tests/memberships/test_pairs.py tests/persistence/test_model_file.py \
  tests/models/test_input_kinds.py tests/models/test_mixed_tables.py tests/cli/test_fit.py \
  tests/cli/test_edit.py tests/cli/test_predict.py
# The oldest interpreter and the oldest of everything that pyproject.toml declares; pyarrow comes with
# fastexcel, and its newest releases need another NumPy.
OLDEST := .venv-oldest
OLDEST_PYTHON ?= $(shell python3.10 -c 'print("python3.10")' 2>/dev/null || echo $(PYTHON))

# Interpreters that pyproject.toml names: those on the path, or of pyenv.
VERSIONS := 3.10 3.11 3.12 3.13
PYTHONS ?= $(shell for v in $(VERSIONS); do \
  for p in python$$v $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$v.*/bin/python; do \
    $$p -c 'import ensurepip, sys; print(sys.executable)' 2>/dev/null && break; done; done)

.DEFAULT_GOAL := help
.PHONY: help install demo test test-nojit test-oldest test-pythons fuzz lint format docs axe dist bench reproduce clean

help:
	@echo "make demo       cluster handwritten digits; table here, report in build/"
	@echo "make test       run the tests (PYTEST_ARGS='-n 0 -k inputs' chooses some)"
	@echo "make test-nojit run tests of kernels as plain Python, where a bad index is an error"
	@echo "make fuzz       attack it for half an hour: random data, damaged and forged files, signals"
	@echo "                (FUZZ='--seconds 60 --seed 3' chooses; FUZZ=--help lists the options)"
	@echo "make test-bounds run tests of kernels, compiled with a check of every index"
	@echo "make test-oldest run some tests with the oldest dependencies that are declared"
	@echo "make test-pythons run the same tests with each Python that pyproject.toml names and that is here"
	@echo "                (PYTHONS=/path/to/python3.12 chooses; its environment is .venv-3.12)"
	@echo "make lint       check style, types and import order"
	@echo "make format     let ruff repair what it can"
	@echo "make docs       build the site into build/docs, examples included"
	@echo "make axe        fetch axe-core (needs npm); tests then check the accessibility of all pages"
	@echo "make dist       build the wheel and the source archive into dist, and check them"
	@echo "make bench      run the benchmarks except scale, which takes long (BENCH=scale runs it)"
	@echo "make reproduce  tables and figures of the papers, about an hour; results in build/"
	@echo "                (ARGS='zass-donut --runs 20' chooses; ARGS=--help lists the options)"
	@echo "make clean      remove .venv and everything generated"

install: $(STAMP)

$(STAMP): pyproject.toml src/soffit/_version.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "soffit needs Python 3.10 or newer; try: make PYTHON=python3.12"; exit 1; }
	@echo "Installing soffit and its tools into $(VENV) (once, a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(STAMP)
	@mkdir -p build
	$(BIN)/soffit demo -o build

test: $(STAMP)
	$(TEST_THREADS) $(BIN)/python -m pytest $(PYTEST_ARGS)

# NumPy warns where its scalars overflow, compiled code does not.
test-nojit: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(TEST_THREADS) $(BIN)/python -m pytest $(PYTEST_ARGS) \
	  -W "ignore:overflow encountered:RuntimeWarning" \
	  -k "not planted and not loss_never_rises" $(NOJIT_TESTS)

fuzz: $(STAMP)
	$(BIN)/python -m fuzz $(FUZZ)

# A cache of its own: numba does not tell kernels with and without checks apart.
test-bounds: $(STAMP)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(TEST_THREADS) $(BIN)/python -m pytest \
	  $(PYTEST_ARGS) $(NOJIT_TESTS) $(BOUNDS_TESTS)

$(OLDEST)/.installed: pyproject.toml tests/oldest.py
	@echo "Installing the oldest declared dependencies into $(OLDEST) (once, a minute or two)"
	@$(OLDEST_PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check tomli
	@$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/oldest.txt
	@$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check \
	  --constraint $(OLDEST)/oldest.txt --editable '.[graphs,anndata,image,excel]' \
	  pandas hypothesis pytest pytest-xdist 'pyarrow<20'
	@touch $@

# `AS` runs the tests as somebody else; their kernels need a place of their own.
test-oldest: $(OLDEST)/.installed
	$(TEST_THREADS) $(AS) $(OLDEST)/bin/python -m pytest $(PYTEST_ARGS) -p no:cacheprovider \
	  $(OLDEST_TESTS)

# With the newest dependencies of each.
test-pythons:
	@test -n "$(PYTHONS)" || { echo "no Python of $(VERSIONS) was found"; exit 1; }
	@set -e; for python in $(PYTHONS); do \
	  folder=.venv-$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  echo "$$python, in $$folder"; \
	  $$python -m venv $$folder; \
	  $$folder/bin/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'; \
	  $(TEST_THREADS) $$folder/bin/python -m pytest $(PYTEST_ARGS) -p no:cacheprovider \
	    $(OLDEST_TESTS); \
	done

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.docs: $(STAMP)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[docs]'
	@touch $@

# Two folders of build/: pages and what Sphinx remembers between builds. Warnings are errors.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -j auto -d build/doctrees docs build/docs
	@echo "Open build/docs/index.html"

# Accessibility checks of the tests in a browser; they are skipped without it.
axe:
	npm install --silent --no-audit --no-fund --prefix build/axe axe-core@4

dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*

bench: $(STAMP)
	@set -e; for name in $(BENCH); do echo "$$name"; $(BIN)/python -m benchmarks.$$name; done

$(VENV)/.reproduction: $(STAMP)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[reproduction]'
	@touch $@

reproduce: $(VENV)/.reproduction
	$(BIN)/python -m reproduction $(ARGS)

clean:
	rm -rf $(VENV) $(OLDEST) .venv-3.* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./.git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
