# Every target makes what it needs in .venv; nothing has to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test check bench record abi oracle interop sanitize sanitize-npu clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

NATIVE := setup.py $(wildcard src/mindtorch_v2/_native/*.[ch]) $(wildcard src/mindtorch_v2/_native/*.inc)

$(VENV)/.base: pyproject.toml $(NATIVE)
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

record: .venv-bench/.done ## record PyTorch's answers anew (makes its own environment with torch)
	.venv-bench/bin/python scripts/oracle/record.py

abi: $(VENV)/.base ## compile the table of the NPU's C functions against the headers in the vendor's torch_npu wheel
	$(BIN)/python scripts/abi/check.py $(if $(ACLNN),--aclnn $(ACLNN))

# The vendor's wheel asks for a torch of its own version; pyyaml, decorator and the others are what its modules import.
.venv-oracle/.done: pyproject.toml scripts/npu_oracle/requirements.txt $(NATIVE)
	$(PYTHON) -m venv .venv-oracle
	.venv-oracle/bin/pip install --quiet --disable-pip-version-check -r scripts/npu_oracle/requirements.txt -e .
	@touch $@

oracle: .venv-oracle/.done ## run the vendor's torch_npu and this package on the simulator, and compare (makes its own environment)
	.venv-oracle/bin/python scripts/npu_oracle/run.py

.venv-interop/.done: pyproject.toml scripts/interop-requirements.txt
	$(PYTHON) -m venv .venv-interop
	.venv-interop/bin/pip install --quiet --disable-pip-version-check -r scripts/interop-requirements.txt -e .
	.venv-interop/bin/pip install --quiet --disable-pip-version-check --no-deps HolisticTraceAnalysis==0.5.0
	@touch $@

interop: .venv-interop/.done ## load a trace of ours with HolisticTraceAnalysis (makes its own environment)
	.venv-interop/bin/python scripts/interop.py

# The native modules with AddressSanitizer and UndefinedBehaviorSanitizer, in a folder of their own. Python itself leaks at exit.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g
sanitize: $(VENV)/.dev ## build the native modules with sanitizers and run their tests
	$(BIN)/pip install --quiet --disable-pip-version-check setuptools
	rm -rf build/sanitize && mkdir -p build/sanitize && cp -r src build/sanitize/src && find build/sanitize/src -name '*.so' -delete
	CFLAGS="$(SANITIZE)" LDFLAGS="$(SANITIZE)" $(BIN)/python setup.py --quiet build_ext --build-temp build/sanitize/tmp \
	  --build-lib build/sanitize/src
	LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	  PYTHONPATH=build/sanitize/src $(BIN)/python -m pytest tests/mindtorch_v2/native

clean: ## remove environments and caches
	rm -rf .venv .venv-bench .venv-oracle .venv-interop build demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis
