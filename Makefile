# Every target makes what it needs in .venv; nothing has to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test check bench oracle clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(VENV)/.base ## train a small transformer language model on the text in examples/data
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev ## run all tests
	$(BIN)/python -m pytest -n auto tests

check: $(VENV)/.dev ## lint (ruff) and type-check (mypy)
	$(BIN)/ruff check src tests scripts benchmarks examples
	$(BIN)/mypy

.venv-bench/.done: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check torch==2.13.0 -e .
	@touch $@

bench: .venv-bench/.done ## measure against PyTorch 2.13 in one run (makes its own environment with torch)
	.venv-bench/bin/python benchmarks/run.py

oracle: .venv-bench/.done ## record PyTorch's answers anew (makes its own environment with torch)
	.venv-bench/bin/python scripts/oracle/record.py

clean: ## remove environments and caches
	rm -rf .venv .venv-bench build demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis
