# The commands a person types. Each does its own set-up; scripts/ holds what is longer than a line.
.DEFAULT_GOAL := help
.PHONY: help bootstrap build demo test lint format fuzz bench bench-selfplay differential golden install clean

PREFIX ?= /usr/local
DEMO := tests/data/programs/move.pb
DEMO_PLUGIN := 0.10.2

help:      ## list these commands
	@awk -F':.*## ' '/^[a-z-]+:.*## /{ printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

bootstrap: ## install what packages.txt lists and this machine lacks (for building)
	@scripts/bootstrap

build: bootstrap ## build/eightfold and build/eightfold-worker, optimized
	@cmake --preset release
	@cmake --build --preset release

demo: build ## audit a real program for a GPU that is not there, and fix it
	@build/eightfold plugins fetch $(DEMO_PLUGIN)
	build/eightfold audit $(DEMO) --target rtx5070 --plugin $(DEMO_PLUGIN) --fail-on never
	build/eightfold audit $(DEMO) --target rtx5070 --plugin $(DEMO_PLUGIN) --fix --quiet

test:      ## everything CI checks: lint, all tests, sanitizers, a minute of fuzzing each
	@scripts/test

lint:      ## clang-format and clang-tidy
	@scripts/bootstrap --test
	@cmake --preset dev >/dev/null
	@scripts/lint build-dev

format:    ## clang-format, in place
	@scripts/lint --format

fuzz:      ## ten minutes of fuzzing for each reader
	@scripts/fuzz 600

bench:     ## measure and print what bench/RESULTS.md records
	@scripts/bootstrap --test
	@cmake --preset bench
	@cmake --build --preset bench
	bench/run build-bench

bench-selfplay: ## a policy move on this CPU against mctx: about an hour
	@scripts/bootstrap --test
	@cmake --preset bench
	@cmake --build --preset bench --target selfplay_bench
	build/venv/bin/python bench/selfplay/run build-bench

differential: ## 10,000 random modules, our FP8 rewrite against stock's: minutes to an hour
	@scripts/differential 10000

golden:    ## rewrite the golden files from what the code prints now; review the diff
	@scripts/bootstrap --test
	@cmake --preset dev
	@cmake --build --preset dev
	EIGHTFOLD_UPDATE_GOLDEN=1 ctest --test-dir build-dev -L golden --output-on-failure
	@git status --short tests/

install: build ## into PREFIX (/usr/local): the programs, the library, headers, a CMake package
	@cmake --install build --prefix $(PREFIX)

clean:     ## remove every build folder
	rm -rf build build-*
