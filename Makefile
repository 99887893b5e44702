# Thin on purpose: what a target does stands in the program that it calls.
PYTHON ?= python3
RUN = $(PYTHON) tests/run.py
LAB = $(PYTHON) molecule/lab/lab.py

.DEFAULT_GOAL := help
.PHONY: help demo demo-shell demo-down test lint sanity unit pages molecule bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Deploy a real SGLang server in a lab guest and ask it something
	@$(PYTHON) molecule/demo/demo.py

demo-shell: ## Open a shell in the demo's guest
	@$(LAB) shell demo-gpu-01

demo-down: ## Remove the demo's guest
	@$(LAB) down demo

test: ## Run all checks; .ci/run does the same
	@$(RUN)

lint: ## Run the linters, the type checker and the documentation check
	@$(RUN) prepare lint

sanity: ## Run ansible-test sanity
	@$(RUN) prepare sanity

unit: ## Run the unit tests, the lab's own included
	@$(RUN) prepare unit lab

pages: ## Look at the HTML report in headless Chromium
	@$(RUN) prepare pages

molecule: ## Run the scenarios of `make test`, or any one with SCENARIO=name
	@$(RUN) prepare molecule$(addprefix :,$(SCENARIO))

bench: ## Run the benchmarks, or one with BENCH=name; exit 1 when a bound is broken
	@$(RUN) prepare
	@$$($(LAB) controller)/python tests/bench/run.py $(BENCH)

clean: ## Remove guests and all that tests and lab made in this checkout
	@$(LAB) down --all
	@rm -rf .lab .ansible .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis collections
