# Thin on purpose: what a target does stands in the program that it calls.
PYTHON ?= python3
RUN = $(PYTHON) tests/run.py
LAB = $(PYTHON) molecule/lab/lab.py

.DEFAULT_GOAL := help
.PHONY: help demo demo-shell demo-down test lint sanity unit molecule clean

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

molecule: ## Run the scenarios, or one with SCENARIO=name
	@$(RUN) prepare molecule$(addprefix :,$(SCENARIO))

clean: ## Remove guests and all that tests and lab made in this checkout
	@$(LAB) down --all
	@rm -rf .lab .ansible .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis collections
