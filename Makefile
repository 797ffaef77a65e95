# Every target makes what it needs in .venv; nothing has to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test format test-fallback test-narrow test-onednn check wheel bench record abi oracle interop perfetto programs programs-quick browser sanitize sanitize-build sanitize-core sanitize-npu sanitize-threads sanitize-valgrind clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

NATIVE := setup.py $(wildcard src/mindtorch_v2/_native/*/*.[ch]) $(wildcard src/mindtorch_v2/_native/*/*.inc)

$(VENV)/.base: pyproject.toml $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

# The package is installed already; only what its extra names is added, so that C is not compiled a second time.
$(VENV)/.dev: $(VENV)/.base
	$(BIN)/pip install --quiet --disable-pip-version-check 'mindtorch-v2[dev]'
	@touch $@

demo: $(VENV)/.base ## train a small transformer on the text in examples/data, and write its report to demo-out/report.html
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev ## run all tests
	$(BIN)/python -m pytest -n auto tests ascend_sim/tests

# What is written twice, in C and in Python, must answer alike, and so must every processor.
NUMERIC_TESTS := $(addprefix tests/mindtorch_v2/,oracle backends test_models.py optim autograd/test_gradcheck.py)

test-fallback: $(VENV)/.dev ## run the operators' and the profiler's tests without the native core
	MINDTORCH_NATIVE=0 $(BIN)/python -m pytest -n auto $(addprefix tests/mindtorch_v2/,oracle profiler native test_profiler.py \
	  autograd/test_autograd_api.py autograd/test_writes_and_functions.py optim test_models.py)

test-narrow: $(VENV)/.dev ## run numerical tests as on a processor without AVX, then as on one without AVX-512
	$(BIN)/python scripts/narrow_cpu.py Prescott -m pytest -n auto $(NUMERIC_TESTS)
	$(BIN)/python scripts/narrow_cpu.py Haswell -m pytest -n auto $(NUMERIC_TESTS)

# An environment of its own for the library alone, so that the other tests go without it.
.venv-onednn/.done: pyproject.toml
	$(PYTHON) -m venv .venv-onednn
	.venv-onednn/bin/pip install --quiet --disable-pip-version-check --no-deps onednn-cpu-gomp
	@touch $@

test-onednn: $(VENV)/.dev .venv-onednn/.done ## run numerical tests with oneDNN before the kernels, on two threads
	OMP_NUM_THREADS=2 MINDTORCH_ONEDNN=$(CURDIR)/.venv-onednn/lib/libdnnl.so.3 $(BIN)/python -m pytest -n auto \
	  $(addprefix tests/mindtorch_v2/,backends/test_onednn.py oracle/test_oracle.py test_models.py)

PYTHON_FILES := src tests scripts benchmarks examples ascend_sim setup.py
C_FILES = $(filter-out setup.py,$(NATIVE)) $(wildcard ascend_sim/*.[ch])

check: $(VENV)/.dev ## lint and style (ruff), style of C (clang-format), type-check the package (mypy) and the examples as a user's program (mypy --strict)
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/ruff format --check --quiet $(PYTHON_FILES)
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)
	$(BIN)/mypy
	$(BIN)/mypy --strict --follow-imports=silent examples

format: $(VENV)/.dev ## give Python and C files their style (ruff, .clang-format)
	$(BIN)/ruff format --quiet $(PYTHON_FILES)
	$(BIN)/clang-format -i $(C_FILES)

.venv-docs/.done: pyproject.toml scripts/site/requirements.txt $(NATIVE)
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet --disable-pip-version-check -r scripts/site/requirements.txt -e .
	@touch $@

docs: .venv-docs/.done ## build the guides and the API reference as a static site in build/site (makes its own environment)
	.venv-docs/bin/python scripts/site/build.py

wheel: ## build a wheel and try it in an empty environment that has no compiler
	rm -rf build/wheel && mkdir -p build/wheel
	$(PYTHON) -m venv build/wheel/build && build/wheel/build/bin/pip wheel --quiet --disable-pip-version-check --no-deps -w dist .
	$(PYTHON) -m venv build/wheel/try && build/wheel/try/bin/pip install --quiet --disable-pip-version-check --no-index --no-deps \
	  "$$(ls -t dist/mindtorch_v2-*.whl | head -n 1)"
	build/wheel/try/bin/pip install --quiet --disable-pip-version-check --only-binary :all: 'numpy>=2.1' 'ml_dtypes>=0.5'
	cd build/wheel && CC=false PATH=try/bin try/bin/python ../../scripts/try_wheel.py

.venv-bench/.done: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check torch==2.13.0 -e '.[fast]'
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

.venv-perfetto/.done: pyproject.toml scripts/perfetto/requirements.txt $(NATIVE)
	$(PYTHON) -m venv .venv-perfetto
	.venv-perfetto/bin/pip install --quiet --disable-pip-version-check -r scripts/perfetto/requirements.txt -e .
	@touch $@

perfetto: .venv-perfetto/.done ## load traces of ours, with all options, with Perfetto's own importer (makes its own environment; needs node)
	.venv-perfetto/bin/python scripts/perfetto/check.py

.venv-browser/.done: pyproject.toml scripts/browser/requirements.txt $(NATIVE)
	$(PYTHON) -m venv .venv-browser
	.venv-browser/bin/pip install --quiet --disable-pip-version-check -r scripts/browser/requirements.txt -e .
	@touch $@

browser: .venv-browser/.done ## try the report in Chromium and Firefox, with pictures in build/pictures (makes its own environment; needs chromium, firefox-esr)
	.venv-browser/bin/python -m pytest -s -p no:cacheprovider -c /dev/null --rootdir scripts/browser scripts/browser

# The native modules and the NPU simulator with AddressSanitizer and UndefinedBehaviorSanitizer, in a folder of their own. Python
# itself leaks at exit; a small quarantine lets the tests that watch memory pass. Then the recorder under valgrind, which also sees
# what is read before it is written (what it says of Python alone does not count), and threads under ThreadSanitizer (the
# simulator's but for the test that races on purpose).
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g
SANITIZED_TESTS := $(addprefix tests/mindtorch_v2/,native profiler optim autograd oracle backends test_models.py \
  test_profiler.py)
# what AddressSanitizer itself changes: it keeps freed blocks back, and answers a segmentation fault itself
UNDER_ASAN := not memory_goes_back and not address_that_comes_again and not segfault
SANITIZED = LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so)" PYTHONMALLOC=malloc PYTHONPATH=build/sanitize/src \
	  ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=4:thread_local_quarantine_size_kb=64
UNDER_TSAN = LD_PRELOAD="$$($${CC:-cc} -print-file-name=libtsan.so)"
SIMULATOR := $(CURDIR)/build/sanitize/simulator
RACE := ascend_sim/tests/test_errors.py::test_a_workspace_written_by_others_while_its_kernel_runs_is_noticed
VALGRIND := $(shell command -v valgrind)
# what valgrind names: a frame by its source file, or the module where it has no line numbers
RECORDER_FILES := $(subst $() ,|,$(basename $(notdir $(wildcard src/mindtorch_v2/_native/recorder/*.c))))
UNDER_VALGRIND := not clock_agrees and not both_recorders

sanitize: sanitize-core sanitize-npu sanitize-threads sanitize-valgrind ## the native modules and the simulator under sanitizers and valgrind

sanitize-build: $(VENV)/.dev
	rm -rf build/sanitize && mkdir -p build/sanitize && cp -r src build/sanitize/src && find build/sanitize/src -name '*.so' -delete
	ln -s $(CURDIR)/ascend_sim build/sanitize/ascend_sim    # as in a checkout
	CFLAGS="$(SANITIZE)" LDFLAGS="$(SANITIZE)" $(BIN)/python setup.py --quiet build_ext --build-temp build/sanitize/tmp \
	  --build-lib build/sanitize/src

sanitize-core: sanitize-build
	$(SANITIZED) $(BIN)/python -m pytest -n auto -k "$(UNDER_ASAN)" $(SANITIZED_TESTS)

sanitize-npu: sanitize-build
	$(BIN)/python ascend_sim/build.py --sanitize address --out $(SIMULATOR)
	$(SANITIZED) ASCEND_SIM_LIBRARY=$(SIMULATOR)/libascend_sim_address.so $(BIN)/python -m pytest -n auto ascend_sim/tests
	$(SANITIZED) MINDTORCH_NPU_LIB=$(SIMULATOR)/libascend_sim_address.so $(BIN)/python -m pytest -n auto tests/mindtorch_v2/npu

sanitize-threads: $(VENV)/.dev
	rm -rf build/threads && mkdir -p build/threads && cp -r src build/threads/src && find build/threads/src -name '*.so' -delete
	CFLAGS="-fsanitize=thread -g" LDFLAGS="-fsanitize=thread" $(BIN)/python setup.py --quiet build_ext --build-temp build/threads/tmp \
	  --build-lib build/threads/src
	$(UNDER_TSAN) TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 PYTHONPATH=build/threads/src $(BIN)/python -W ignore scripts/stress_threads.py
	$(BIN)/python ascend_sim/build.py --sanitize thread --out $(SIMULATOR)
	$(UNDER_TSAN) TSAN_OPTIONS=exitcode=1 ASCEND_SIM_LIBRARY=$(SIMULATOR)/libascend_sim_thread.so \
	  $(BIN)/python -m pytest -p no:xdist --deselect $(RACE) ascend_sim/tests

sanitize-valgrind: $(VENV)/.dev
ifeq ($(VALGRIND),)
	@echo "valgrind is not installed: what is read before it is written was not looked for"
else
	mkdir -p build
	PYTHONMALLOC=malloc PYTHONPATH=src $(VALGRIND) --log-file=build/valgrind.log --num-callers=30 \
	  $(BIN)/python -m pytest -p no:cacheprovider -p no:xdist -k "$(UNDER_VALGRIND)" tests/mindtorch_v2/native/test_recorder.py \
	  tests/mindtorch_v2/native/test_bounded_recorder.py
	! grep -nE '\(($(RECORDER_FILES))\.c:|/_native/_' build/valgrind.log
endif

# The libraries require torch, which the shim's wheel stands for; so it and this package are installed first.
.venv-programs/.done: pyproject.toml scripts/programs/requirements.txt $(NATIVE)
	$(PYTHON) -m venv .venv-programs
	.venv-programs/bin/pip install --quiet --disable-pip-version-check -e .
	.venv-programs/bin/pip wheel --quiet --disable-pip-version-check --no-deps -w build/programs packaging/torch-shim
	.venv-programs/bin/pip install --quiet --disable-pip-version-check --no-deps build/programs/torch-*.whl
	.venv-programs/bin/pip install --quiet --disable-pip-version-check uv
	.venv-programs/bin/uv pip install --quiet --python .venv-programs/bin/python -r scripts/programs/requirements.txt \
		|| .venv-programs/bin/pip install --quiet --disable-pip-version-check --no-compile -r scripts/programs/requirements.txt
	@touch $@

programs: .venv-programs/.done ## run real programs and libraries unchanged and compare with PyTorch's numbers (makes its own environment)
	$(PYTHON) scripts/programs/run.py --python .venv-programs/bin/python --table docs/programs.md

programs-quick: $(VENV)/.base ## the programs among them that need no library
	$(BIN)/python scripts/programs/run.py --door --families plain

clean: ## remove environments and caches
	rm -rf .venv .venv-programs .venv-onednn dist .venv-bench .venv-oracle .venv-interop .venv-perfetto .venv-docs .venv-browser build demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis
