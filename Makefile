# `make evaluate` and `make test` do all the set-up on a fresh machine: they create .venv and install pinned packages.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEVICE := $(shell nvidia-smi >/dev/null 2>&1 && echo cuda || echo cpu)
KERNELS_cpu := baselines/norm/rmsnorm/cpp_simd baselines/activation/softmax/cpp_three_pass baselines/matmul/matmul/cpp_tiled \
               baselines/norm/rmsnorm/cuda_register_rows
KERNELS_cuda := baselines/norm/rmsnorm/cuda_register_rows baselines/activation/softmax/cuda_register_rows \
                baselines/matmul/matmul/cuda_register_tile
EVERYWHERE := baselines/norm/rmsnorm/python_two_pass baselines/activation/softmax/python_value \
              baselines/norm/rmsnorm/triton_tile baselines/activation/softmax/triton_tile

.PHONY: evaluate test full lint browser audit rules demonstration soak timing perf page clean

# Judge several published kernels on the device at hand, in the languages that it can run.
evaluate: $(STAMP)
	$(BIN)/kbench evaluate $(EVERYWHERE) $(KERNELS_$(DEVICE)) --device $(DEVICE) --tier quick

# Tests that expect something of a time, of the memory that is free or of the processes that run. All others run side by side.
ALONE := $(wildcard tests/devices/test_c*.py) tests/devices/test_limits.py tests/devices/test_machine.py tests/isolation tests/perf \
         $(addprefix tests/redteam/test_,campaign.py disturbances.py trials.py) \
         $(addprefix tests/timing/test_,cuda_session.py faster_starts.py spending.py spot_checks.py starting.py) \
         $(addprefix tests/worker/test_,sandbox.py warm_process.py) \
         $(addprefix tests/test_,bad_submissions.py declared_contracts.py device_memory.py fewer_layers.py forged_answers.py \
           free_memory.py killed_judges.py machine_shares.py pipeline.py timing_attacks.py trust_boundary.py wrong_answers.py)

# The fast lane: every fast test, every task's spec, what has changed and a rotating eighth of the rest.
test: $(STAMP) lint
	$(BIN)/python -m pytest -n auto -m "not slow" tests $(addprefix --ignore=,$(ALONE))
	$(BIN)/python -m pytest -m "not slow" $(ALONE)
	$(BIN)/python -m pytest -n auto --lane fast -m "not timed" tasks
	$(BIN)/python -m pytest --lane fast -m timed tasks || [ $$? = 5 ]  # 5: none is due today

# Everything: slow tests, the whole registry, the harness's own overhead.
full: $(STAMP) lint
	$(BIN)/python -m pytest -n auto tests $(addprefix --ignore=,$(ALONE))
	$(BIN)/python -m pytest $(ALONE)
	$(BIN)/python -m pytest -n auto -m "not timed" tasks
	$(BIN)/python -m pytest -m timed tasks

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The leaderboard's pages in a real browser; a picture of each kind of page, on a desk and on a phone, in screenshots/.
browser: $(STAMP)
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -qq -y chromium; \
	  else echo "no chromium, and no right to install one; Debian: apt-get install chromium" >&2; exit 1; fi
	KBENCH_SCREENSHOTS=$(CURDIR)/screenshots $(BIN)/python -m pytest -rs tests/leaderboard/browser

# Can every task tell right from wrong?
audit: $(STAMP)
	$(BIN)/kbench audit

# Our rule beside other benchmarks', on the same variants.
rules: $(STAMP)
	$(BIN)/kbench audit --rules > docs/rules.tmp && mv docs/rules.tmp docs/rules.md

# The agents beside each other, from the published searches and their final judging: nobody is asked, nothing is judged.
demonstration: $(STAMP)
	@place=$$(mktemp -d) && trap 'rm -rf "$$place"' EXIT && \
	  for name in demonstration demonstration-finals; do tar xf leaderboard/cpu/$$name.tar.xz -C "$$place" || exit 1; done && \
	  $(BIN)/kbench sweep demonstration --out "$$place/sweep" && cp "$$place/sweep/README.md" docs/demonstration.md

# The registry's page: every task with what its audit has killed.
page: $(STAMP)
	$(BIN)/kbench audit --page > docs/tasks.tmp && mv docs/tasks.tmp docs/tasks.md

# No honest kernel is refused: 10,000 judgements of honest variants, and 50 evaluations end to end, kernel after kernel.
SOAKED_cpu := $(sort $(wildcard baselines/*/*/cpp_*))
SOAKED_cuda := $(sort $(wildcard baselines/*/*/cuda_*) $(wildcard baselines/*/*/triton_*))
soak: $(STAMP)
	$(BIN)/kbench audit --soak 10000
	for kernel in $(wordlist 1,50,$(SOAKED_$(DEVICE)) $(SOAKED_$(DEVICE)) $(SOAKED_$(DEVICE))); do \
	  $(BIN)/kbench evaluate $$kernel --device $(DEVICE) --tier full || exit 1; done

# How far a speedup can be believed: equal kernels, planted slow-downs, and the peers' way beside it. Two hours, alone.
timing: $(STAMP)
	$(BIN)/python tests/perf/paired_timing.py

# The overhead per evaluation and per call, what a leaderboard of 20,000 records costs, and how long the emulator takes.
perf: $(STAMP)
	$(BIN)/python -m pytest --benchmark-only --benchmark-columns=min,median,iqr,rounds tests/perf
	$(BIN)/python tests/perf/emulated_kernels.py

$(STAMP): pyproject.toml constraints.txt setup.py
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "robust-kbench needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[dev,agent]'
	$(BIN)/python -m compileall -q -j 0 -x '/tests?/' $(VENV)/lib >/dev/null || true  # what pip would do on one core
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info
