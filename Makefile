# Two commands: `make demo` and `make check`. Everything else is CMake presets and Ninja.

BUILD ?= build
FUZZ_SECONDS ?= 10
CTEST_TIMEOUT ?= 900
JOBS ?= $(shell nproc)
CTEST_OPTIONS = --output-on-failure --timeout $(CTEST_TIMEOUT) -j $(JOBS)

# What get-cuda.sh got, if it had to.
ifneq ($(wildcard $(BUILD)/cuda/nvidia/cu13),)
export SINTER_CUDA_HOME ?= $(abspath $(BUILD)/cuda/nvidia/cu13)
endif

.PHONY: build bundle check check-quick configure cuda demo bench bench-gate test test-cpus fuzz lint format \
  tidy install packages clean
.DEFAULT_GOAL := build

packages:
	@tools/dev/install-packages.sh

cuda: packages
	@tools/dev/get-cuda.sh $(BUILD)/cuda

configure: packages
	cmake --preset release -B $(BUILD)

build: configure
	cmake --build $(BUILD) -j $(JOBS)

# All that must hold before a change lands.
check: cuda
	$(MAKE) --no-print-directory build
	$(MAKE) --no-print-directory test test-cpus lint fuzz
	@cat $(BUILD)/not-proved.txt

# What is tried after every change: all but fuzzing and tests whose label ends in `slow` (emulated GPU
# kernels, ranks, families, the command line).
check-quick: build
	ctest --test-dir $(BUILD) $(CTEST_OPTIONS) -LE 'slow$$'
	$(MAKE) --no-print-directory lint

# What tests compile is not kept among what the user compiles.
test test-cpus check-quick: export SINTER_CACHE_DIR ?= $(abspath $(BUILD))/cache

test:
	ctest --test-dir $(BUILD) $(CTEST_OPTIONS)

test-cpus:
	tools/dev/test-cpus.sh $(BUILD) $(CTEST_OPTIONS)

fuzz: packages
	cmake --preset fuzz
	cmake --build build-fuzz -j $(JOBS)
	tools/dev/fuzz.sh build-fuzz $(FUZZ_SECONDS) $(JOBS)

lint:
	tools/dev/lint.py

# clang-tidy on the sources that changed since BASE (default: origin/main, else the last commit).
tidy: build
	tools/dev/tidy.sh "$(BASE)" $(BUILD)

format:
	tools/dev/format.sh

demo: configure
	cmake --build $(BUILD) -j $(JOBS) --target sinter
	SINTER=$(BUILD)/bin/sinter DEMO_OUT=$(BUILD)/demo examples/demo.sh

# Everything that a machine with a GPU needs to run Sinter and its checks: build/sinter-bundle.tar.xz.
bundle: build
	cmake --build $(BUILD) -j $(JOBS) --target bundle

bench: build
	tools/bench/bench.py --sinter $(BUILD)/bin/sinter --json $(BUILD)/bench.json
	tools/bench/rooflines.py --sinter $(BUILD)/bin/sinter

# Before a release: no work does less of what this machine can do than is stored of its kind.
bench-gate: build
	tools/bench/bench.py --sinter $(BUILD)/bin/sinter --no-peers --gate

install: build
	cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

clean:
	rm -rf $(BUILD) build-fuzz
