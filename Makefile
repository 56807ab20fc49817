# Two commands: `make demo` and `make check`. Everything else is CMake presets and Ninja.

BUILD ?= build
FUZZ_SECONDS ?= 60
CTEST_TIMEOUT ?= 900
JOBS ?= $(shell nproc)

.PHONY: build bundle check demo bench test fuzz lint format install packages clean
.DEFAULT_GOAL := build

packages:
	@tools/dev/install-packages.sh

build: packages
	cmake --preset release -B $(BUILD)
	cmake --build $(BUILD) -j $(JOBS)

# All that must hold before a change lands.
check: build
	$(MAKE) --no-print-directory test lint fuzz

test:
	ctest --test-dir $(BUILD) --output-on-failure --timeout $(CTEST_TIMEOUT) -j $(JOBS)

fuzz: packages
	cmake --preset fuzz
	cmake --build build-fuzz -j $(JOBS) --target FuzzTargets
	tools/dev/fuzz.sh build-fuzz $(FUZZ_SECONDS) $(JOBS)

lint:
	tools/dev/lint.py

format:
	tools/dev/format.sh

demo: build
	SINTER=$(BUILD)/bin/sinter DEMO_OUT=$(BUILD)/demo examples/demo.sh

# Everything that a machine with a GPU needs to run Sinter and its checks: build/sinter-bundle.tar.xz.
bundle: build
	cmake --build $(BUILD) -j $(JOBS) --target bundle

bench: build
	tools/bench/bench.py --sinter $(BUILD)/bin/sinter --json $(BUILD)/bench.json

install: build
	cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

clean:
	rm -rf $(BUILD) build-fuzz
