# `make` alone lists what there is to make. What is built goes to build/<preset>/.

preset ?= release
rounds ?= 25
minutes ?= 10
cases ?= 10000
hours ?= 8
prefix ?= /usr/local
commit ?= HEAD
SEEDS ?= 1..100000

.PHONY: help build run cluster test asan lint install package sim slow chaos referee corruption soak planted lock-set check bench bench-quick format clean setup browser

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

build: build/$(preset)/with_tests  ## build the server and its tests; preset=asan or tsan for sanitizers
	@cmake --build --preset $(preset)

# The server of a working copy has its locks there, unless somebody says where.
data_here = $(if $(HOLDFAST_DATA)$(LOCKSERVER_DB)$(findstring --config,$(ARGS)),,HOLDFAST_DATA='$(CURDIR)/holdfast-data')

run: build/$(preset)/build.ninja  ## build and start the server, e.g. make run ARGS="--http 127.0.0.1:9090"
	@cmake --build --preset $(preset) --target holdfast
	@$(data_here) exec build/$(preset)/holdfast serve $(ARGS)

cluster: build/$(preset)/build.ninja  ## build, then start three etcd and three nodes on this machine, to try things out
	@cmake --build --preset $(preset) --target holdfast
	@HOLDFAST=build/$(preset)/holdfast exec tools/cluster

test: build browser  ## build and run all tests; in a browser, too, where one can be installed
	@ctest --preset $(preset) --parallel $(shell nproc)

asan: build/asan/with_tests  ## build and run the tests of the engine, of net and of the doors under sanitizers
	@cmake --build --preset asan --target engine_tests
	@ctest --preset asan --label-regex '^engine$$' --parallel $(shell nproc)

lint: setup  ## look at the format of the sources and at the rules of the house
	@tools/lint

install: build/$(preset)/build.ninja  ## install the server, the library and its headers; prefix=/usr/local
	@cmake --build --preset $(preset) --target holdfast holdfast_library
	@cmake --install build/$(preset) --prefix $(prefix) --strip

package: build/package/build.ninja  ## make a Debian package with the service for systemd
	@cmake --build --preset package
	@cd build/package && cpack
	@ls build/package/package/*.deb

sim: build/$(preset)/with_tests  ## simulate, e.g. make sim SEEDS=1..100000, or SEEDS=4711 for one whole history; cluster=1 for worlds with a cluster
	@cmake --build --preset $(preset) --target holdfast_sim_program
	@build/$(preset)/bin/holdfast_sim $(if $(cluster),--cluster) $(SEEDS)

slow: build  ## kill the server under load many times more than `make test` does; rounds=25
	@HOLDFAST_ROUNDS=$(rounds) build/$(preset)/bin/e2e_test --gtest_filter='Durable.NothingAcknowledged*'

chaos: build/$(preset)/build.ninja  ## torment a cluster of three nodes and three etcd; minutes=10
	@cmake --build --preset $(preset) --target holdfast
	@python3 tests/cluster/chaos.py --holdfast build/$(preset)/holdfast --minutes $(minutes)

referee: build/$(preset)/with_tests  ## torment a server with clients at every door, and judge what they were told; minutes=10, seed=7, only=, cluster=1
	@cmake --build --preset $(preset) --target holdfast referee_cpp_recorder
	@cd tests/referee && go run . run --holdfast '$(CURDIR)/build/$(preset)/holdfast' \
	    --cpp-recorder '$(CURDIR)/build/$(preset)/bin/referee_cpp_recorder' --lasts $(minutes)m $(if $(cluster),--cluster) $(if $(seed),--seed $(seed)) $(if $(only),--only '$(only)')

corruption: build/$(preset)/build.ninja  ## start the server on damaged files, and on what lost power leaves behind; cases=10000, seed=1
	@cmake --build --preset $(preset) --target holdfast
	@cd tests/referee && go run . corruption --holdfast '$(CURDIR)/build/$(preset)/holdfast' --cases $(cases) $(if $(seed),--seed $(seed))

soak: build/$(preset)/build.ninja  ## clients come and go for hours, and nothing of them may stay in the server; hours=8
	@cmake --build --preset $(preset) --target holdfast
	@cd tests/referee && go run . soak --holdfast '$(CURDIR)/build/$(preset)/holdfast' --lasts $(hours)h

planted: build/$(preset)/with_tests  ## the referee must find each mistake that was planted in a server; only=renewal_falls_short for one
	@cmake --preset $(preset) -D HOLDFAST_PLANTED_MISTAKES=ON
	@cmake --build --preset $(preset) --target holdfast_planted
	@cd tests/referee && go run . planted --holdfast '$(CURDIR)/build/$(preset)/bin/holdfast_planted' $(if $(only),--only $(only))

lock-set: build/$(preset)/build.ninja  ## what paused clients lose with locks of Holdfast, etcd, Redis and PostgreSQL (half an hour); ARGS="--table times"
	@tools/setup lock-set || echo "*** systems that are not installed are left out ***"
	@cmake --build --preset $(preset) --target holdfast
	@cd tests/referee && go run . lock-set --holdfast '$(CURDIR)/build/$(preset)/holdfast' $(ARGS)

check: setup browser  ## format, clang-tidy, house rules, and the tests with and without sanitizers
	@tools/check

bench: build/bench/build.ninja  ## build and run the benchmarks; only=threads for one section
	@cmake --build --preset bench
	@bench/run $(if $(only),--only $(only))

bench-quick: build/bench/build.ninja  ## compare the working tree with the last commit by instructions; commit=HEAD~3
	@bench/quick $(commit)

format: setup  ## format the sources in place
	@git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-14 -i

clean:  ## remove everything that was built
	@rm -rf build

# Once configured, a build folder looks after itself: this runs for a new one or for new presets. Whoever only wants the
# server needs neither the tests nor their packages; once somebody wants them, they stay.
build/%/build.ninja: CMakePresets.json | setup
	@[ -e build/$*/with_tests ] || tests=OFF; cmake --preset $* -D BUILD_TESTING=$${tests:-ON}
	@touch $@

build/%/with_tests: CMakePresets.json | setup
	@cmake --preset $* -D BUILD_TESTING=ON
	@touch build/$*/build.ninja $@

# Installs what is missing for the target at hand.
packages = build
build test asan sim slow planted referee: packages += test
cluster chaos: packages += cluster
referee corruption soak planted lock-set: packages += referee
check: packages += test check
lint: packages = lint
package: packages = build package
bench bench-quick: packages += bench
format: packages = lint
setup:
	@tools/setup $(packages)

# The dashboard is tested in a browser where there can be one; the tests say so themselves where there is none. A browser
# of one's own is named by HOLDFAST_CHROMIUM.
browser: | setup  ## install what the tests of the dashboard need: Chromium, npm
	@[ -n "$$HOLDFAST_CHROMIUM" ] || tools/setup web || echo "*** no browser: the dashboard will not be tested ***"
