# make quickstart · make test · make lint · make bench
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help quickstart test lint bench dataset

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
FASHION := /usr/share/datasets/fashion-mnist
TORCH := torch==2.13.0

# $(call apt,packages): install Debian packages as root; otherwise say how and fail.
define apt
{ if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    echo "Installing $(1) with apt"; \
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends $(1) >/dev/null; \
  else echo "$(1) is missing; run: sudo apt-get install $(1)"; false; fi; }
endef

help:
	@echo "make quickstart   set up .venv, train one epoch on the best device, print the weights' hash"
	@echo "make test         everything that CI checks: lint, types, imports, tests"
	@echo "make lint         the checks alone, without the tests"
	@echo "make bench        the time of a training step"

quickstart: $(VENV)/.examples
	@[ -d $(FASHION) ] || $(call apt,dataset-fashion-mnist) 2>/dev/null || echo "Going on with small digits."
	@$(BIN)/python examples/mnist/train.py

test: lint dataset
	@echo "== pytest"
	@$(BIN)/pytest -q -n 2 --dist worksteal
	@echo "== All checks and tests passed."

lint: $(VENV)/.dev
	@echo "== ruff check"
	@$(BIN)/ruff check .
	@echo "== ruff format --check"
	@$(BIN)/ruff format --check .
	@echo "== mypy --strict"
	@$(BIN)/mypy
	@$(BIN)/mypy examples/mnist benchmarks tools
	@echo "== import contracts"
	@$(BIN)/lint-imports
	@echo "== Lint, format, types and imports are clean."

bench: $(VENV)/.dev
	@for model in mlp cnn; do echo "== $$model"; $(BIN)/python benchmarks/step.py $$model; done

dataset:
	@[ -d $(FASHION) ] || $(call apt,dataset-fashion-mnist)

# The stamps keep set-up from running again until pyproject.toml changes.
$(VENV)/.examples: pyproject.toml | $(BIN)/python
	@echo "Installing vkml and what the examples need"
	@$(PIP) -e '.[examples]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing vkml, its development tools and PyTorch (for comparison)"
	@$(PIP) -e '.[dev,conformance,examples]' $(TORCH)
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name one with make PYTHON=…"; false; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(call apt,python3-venv)
	@$(PYTHON) -m venv $(VENV)
