# Everything a checkout can do. Needs Python 3.11 or newer and make; the rest goes into .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TOOLS  := $(VENV)/.tools
JOBS   ?= auto
# embedded needs no container engine; docker makes KIND clusters; auto takes docker where all of it is there.
LAB_RUNTIME ?= embedded
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help lab lab-down image compiled test test-compiled test-long lint format bench bench-edge oracle clean

help: ## show this
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

# What running needs, and what working on it needs beside that.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; say which one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "preparing $(VENV) (once; a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --editable .
	@touch $@

$(TOOLS): $(READY)
	@echo "installing the tools of development (once)"
	@$(PIP) --editable '.[dev]'
	@touch $@

# What the image is built on must have the Python that made its wheels.
IMAGES    := environments/grid-edge/images
GRID_BASE ?= python:$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')-slim
export GRID_BASE

lab: $(READY) $(if $(filter-out embedded,$(LAB_RUNTIME)),image) ## bring the grid up, take a region away from it, show what happens
	@$(BIN)/grid-e2e run --config environments/grid-edge/forge.yaml --runtime $(LAB_RUNTIME) --only failover --keep

lab-down: $(READY) ## take the lab down again
	@$(BIN)/praxis-forge --config environments/grid-edge/forge.yaml down

# PRAXIS_COMPILE: 1 compiles the gateway or fails, 0 does not, auto does where there is a C compiler.
PRAXIS_COMPILE ?= auto
WHEEL := $(BIN)/python -m pip wheel --quiet --disable-pip-version-check

image: $(READY) ## make the wheels that the lab's image is built from (for Docker)
	@echo "making wheels in $(IMAGES)/wheelhouse"
	@rm -rf $(IMAGES)/wheelhouse
	@PRAXIS_COMPILE=$(PRAXIS_COMPILE) $(WHEEL) --wheel-dir $(IMAGES)/wheelhouse . \
	  || { [ $(PRAXIS_COMPILE) = auto ] && PRAXIS_COMPILE=0 $(WHEEL) --wheel-dir $(IMAGES)/wheelhouse .; }
	@ls $(IMAGES)/wheelhouse/praxis_grid-*-none-any.whl >/dev/null 2>&1 \
	  && echo "the gateway in it is pure Python: it was not compiled (no C compiler, Python.h or mypy)" \
	  || echo "the gateway in it is compiled"

# Unpacked where nothing else looks: a library beside the sources would be taken in their place.
NATIVE := .native
TESTED ?= tests/edge

compiled: $(TOOLS) ## compile the gateway into .native, for test-compiled and for measuring
	@rm -rf $(NATIVE)
	@PRAXIS_COMPILE=1 $(WHEEL) --no-deps --wheel-dir $(NATIVE)/wheel .
	@$(PIP) --no-deps --target $(NATIVE) $(NATIVE)/wheel/*.whl
	@ln -s $(CURDIR)/tests $(CURDIR)/environments $(CURDIR)/docs $(CURDIR)/pyproject.toml $(NATIVE)/

test-compiled: compiled ## run the gateway's tests against what was compiled: TESTED=tests/edge/wire for a part
	@cd $(NATIVE) && $(CURDIR)/$(BIN)/python -c 'import edge.wire.turn as it; assert it.__file__.endswith(".so"), it'
	cd $(NATIVE) && $(CURDIR)/$(BIN)/python -m pytest -q -n $(JOBS) --dist loadscope -m 'not long' $(TESTED)

test: $(TOOLS) ## run the tests
	$(BIN)/python -m tests.run -n $(JOBS) --dist loadscope -m 'not long'

test-long: $(TOOLS) ## run the exhaustive tests too
	$(BIN)/python -m tests.run -n $(JOBS) --dist loadscope

lint: $(TOOLS) ## formatting, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(TOOLS) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(TOOLS) ## run the benchmarks, side by side with a bare interpreter or a peer
	$(BIN)/python -m tests.bench

bench-edge: $(TOOLS) ## run the gateway's benchmark against nginx
	$(BIN)/python -m tests.bench edge

oracle: $(TOOLS) ## replay recorded Kubernetes API answers, print each topic's share
	$(BIN)/python -m tests.kit.oracle

clean: ## remove the virtual environment and the caches
	rm -rf $(VENV) $(NATIVE) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
