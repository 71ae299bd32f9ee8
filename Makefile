# A thin front of CMake: see «make help». Everything is built in $(BUILD).
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_FLAGS ?=

# The generator is chosen once; recipes look at the machine only after packages are installed.
generator = $$([ -e $(BUILD)/CMakeCache.txt ] || ! command -v ninja >/dev/null || echo -G Ninja)
configure = cmake -S . -B $(BUILD) $(generator) $(CMAKE_FLAGS)
configured = [ -e $(BUILD)/build.ninja ] || [ -e $(BUILD)/Makefile ]
compile = cmake --build $(BUILD) --parallel $(JOBS)

.PHONY: all build-all demo test check install clean help
.DEFAULT_GOAL := all

all: ## build kprof, the collector and the samples into build/
	@scripts/install-packages build
	@$(configured) || $(configure) -DKPROF_TESTS=OFF
	@$(compile)

demo: all ## profile the sample program, or open a recorded run where there is no GPU
	@scripts/demo $(BUILD)

build-all: ## build the tests too
	@scripts/install-packages build test
	@$(configure) -DKPROF_TESTS=ON
	@$(compile)

# Two tests a core: half of them wait most of the time.
test: build-all ## build everything and run the tests (those for a GPU where there is one)
	@ctest --test-dir $(BUILD) --output-on-failure -j$$((2 * $(JOBS))) --output-junit ctest.xml \
		$$(scripts/has-gpu || echo '-LE ^gpu$$')

check: ## the slower checks: sanitizers, fuzzer, static analysis, man pages
	@scripts/check

install: all ## install below PREFIX (/usr/local; DESTDIR is respected)
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove what was built
	rm -rf $(BUILD) build-asan build-clang build-no-cuda build-fuzz build-tsan build-check

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'Variables: BUILD=$(BUILD) PREFIX=$(PREFIX) JOBS=$(JOBS) CMAKE_FLAGS=$(CMAKE_FLAGS)'
