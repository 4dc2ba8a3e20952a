# From a fresh clone on Debian or Ubuntu: `make demo` or `make test`. Each does the set-up it needs,
# and nothing twice. CMake does the building; this file only calls it.
PRESET ?= release
BUILD := build$(if $(filter-out release,$(PRESET)),-$(PRESET))
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# WERROR=ON makes warnings errors; unset, the build folder keeps what it has.
SETTINGS := $(if $(WERROR),-DPERCEIVER_WERROR=$(WERROR))

.PHONY: perceiver all demo test peers compare compare-serve wheel results install package package-test format clean help configure

perceiver: configure  ## build/perceiver (the default)
	@JOBS=$(JOBS) tools/build.sh $(BUILD) perceiver

all: configure  ## everything: programs, tests, benchmarks
	@JOBS=$(JOBS) tools/build.sh $(BUILD) all

demo: perceiver  ## show what the project does: perceiver-demo/
	$(BUILD)/perceiver demo

test: all  ## build everything and run every test
	@ctest --preset $(PRESET)

peers: perceiver  ## compare with transformers, which it installs; PEERS=--released: at full size
	@JOBS=$(JOBS) tools/build.sh $(BUILD) statistics_peer
	@tools/peers.sh --program $(BUILD)/perceiver $(PEERS)

compare: perceiver  ## time beside transformers; COMPARE='flow --device cuda': what and where
	@tools/compare.sh --program $(BUILD)/perceiver $(COMPARE)

compare-serve: perceiver  ## the server beside transformers behind FastAPI; COMPARE='--clients 1 4'
	@tools/compare_serve.sh --program $(BUILD)/perceiver $(COMPARE)

results: perceiver  ## draw docs/results.md from experiments/rows
	@$(BUILD)/perceiver paper --results docs

wheel: configure  ## the Python package: build/wheel/*.whl
	@JOBS=$(JOBS) tools/wheel.sh

install: SETTINGS += -DCMAKE_INSTALL_PREFIX=$(PREFIX)
install: configure  ## install to PREFIX (/usr/local); LibTorch comes along where it lies in .deps
	@JOBS=$(JOBS) tools/build.sh $(BUILD) installed
	@cmake --install $(BUILD)

package: SETTINGS += -DPERCEIVER_INSTALL_TORCH=ON
package: perceiver  ## dist/: an archive and a .deb that need the C library and nothing else
	@cpack --config $(BUILD)/CPackConfig.cmake

package-test: package  ## run both where there is the C library and nothing else
	@tools/package_test.sh

configure:
	@tools/setup.sh
	@tools/configure.sh $(PRESET) $(SETTINGS)

format:  ## rewrite the sources in the project's format
	@tools/format.sh -i

clean:  ## remove the build folders; .deps (LibTorch) stays
	rm -rf build build-*/

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 21
	@echo "Settings: PRESET=release|debug|asan|cuda PREFIX=/usr/local JOBS=$(JOBS) WERROR=ON|OFF"
