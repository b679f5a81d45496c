# `make demo` and `make test` are all that a newcomer needs; each builds its own environment in .venv from nothing.
# `make check` is what to run while at work. `make results` makes the tables of results/ again from their rows, `make
# verify` runs some of those rows again, `make docs` makes the documentation site.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Two stages, each with a stamp: what the demo needs, and everything else on top of it. Bytecode is left to the first
# import: compiling all of torch takes longer than unpacking it.
DEMO   := $(VENV)/.demo
READY  := $(VENV)/.ready
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

# Some machines forbid Python to keep bytecode. Every process then compiles torch again, for six seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test static check quick results verify docs lint types imports unit setup clean

$(DEMO): pyproject.toml constraints.txt
	@$(PYTHON) -c "import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
	  'postel needs Python 3.11 or newer; say which: make PYTHON=python3.11')"
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[demo]'
	@touch $@

$(READY): $(DEMO)
	$(PIP) -e '.[all,dev]'
	@touch $@

setup: $(READY)

demo: $(DEMO)
	$(BIN)/postel demo

# Linters take one core for a minute: beside the tests they cost less than before them.
test: setup
	@$(MAKE) --no-print-directory -j 2 unit static

static: lint types imports

# The same without tests that start other programs, train for long, or need a browser or Java.
check: setup
	@$(MAKE) --no-print-directory -j 2 quick static

quick: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" $(PYTEST_ARGS)

verify: $(READY)
	$(BIN)/python results/verify.py $(VERIFY_ARGS)

results: $(READY)
	$(BIN)/python results/remake.py

docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -q -E -a -b html docs build/docs
	@echo "the site is in build/docs/index.html"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache demo
