# Every target makes what it needs in .venv; nothing has to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test check bench oracle interop sanitize clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

oracle: .venv-bench/.done ## record PyTorch's answers anew (makes its own environment with torch)
	.venv-bench/bin/python scripts/oracle/record.py

.venv-interop/.done: pyproject.toml scripts/interop-requirements.txt
	$(PYTHON) -m venv .venv-interop
	.venv-interop/bin/pip install --quiet --disable-pip-version-check -r scripts/interop-requirements.txt -e .
	.venv-interop/bin/pip install --quiet --disable-pip-version-check --no-deps HolisticTraceAnalysis==0.5.0
	@touch $@

interop: .venv-interop/.done ## load a trace of ours with HolisticTraceAnalysis (makes its own environment)
	.venv-interop/bin/python scripts/interop.py

# The native modules with AddressSanitizer and UndefinedBehaviorSanitizer, in a folder of their own. Python itself leaks at exit; a
# small quarantine lets the tests that watch memory pass. Then the pool of threads under ThreadSanitizer, and the recorder under valgrind,
# which also sees what is read before it is written; what it says of Python alone does not count.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g
SANITIZED_TESTS := $(addprefix tests/mindtorch_v2/,native profiler optim test_autograd_api.py test_gradcheck.py test_optim.py test_models.py \
  test_profiler.py)
VALGRIND := $(shell command -v valgrind)
UNDER_VALGRIND := not other_twin and not clock_agrees and not twins
sanitize: $(VENV)/.dev ## build the native modules with sanitizers and run their tests, then the recorder's under valgrind
	$(BIN)/pip install --quiet --disable-pip-version-check setuptools
	rm -rf build/sanitize && mkdir -p build/sanitize && cp -r src build/sanitize/src && find build/sanitize/src -name '*.so' -delete
	CFLAGS="$(SANITIZE)" LDFLAGS="$(SANITIZE)" $(BIN)/python setup.py --quiet build_ext --build-temp build/sanitize/tmp \
	  --build-lib build/sanitize/src
	LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so)" PYTHONMALLOC=malloc PYTHONPATH=build/sanitize/src \
	  ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=4:thread_local_quarantine_size_kb=64 \
	  $(BIN)/python -m pytest -n auto $(SANITIZED_TESTS)
	find build/sanitize/src -name '*.so' -delete
	CFLAGS="-fsanitize=thread -g" LDFLAGS="-fsanitize=thread" $(BIN)/python setup.py --quiet build_ext --build-temp build/sanitize/tsan \
	  --build-lib build/sanitize/src
	LD_PRELOAD="$$($${CC:-cc} -print-file-name=libtsan.so)" TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 \
	  PYTHONPATH=build/sanitize/src $(BIN)/python -W ignore scripts/stress_threads.py
ifeq ($(VALGRIND),)
	@echo "valgrind is not installed: what is read before it is written was not looked for"
else
	PYTHONMALLOC=malloc PYTHONPATH=src $(VALGRIND) --log-file=build/valgrind.log --num-callers=30 \
	  $(BIN)/python -m pytest -p no:cacheprovider -p no:xdist -k "$(UNDER_VALGRIND)" tests/mindtorch_v2/native/test_recorder.py
	! grep -nE '\(recorder[a-z_]*\.c:|/_native/_' build/valgrind.log
endif

clean: ## remove environments and caches
	rm -rf .venv .venv-bench .venv-interop build demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis
