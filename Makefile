# `make` lists what there is. Everything runs with Go, git and make. The tests run
# against a real Redis, Consul agent and nginx, which `make test` sees to; those of
# other people's servers also want npm and say so where they skip.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
PKG     ?= ./...
RUN     ?=
FUZZTIME ?= 1m
BENCH   ?= ^Benchmark(Superstep|FanOut100|Pick|RoutedHop|AppendGrowth|Call)
BENCHTIME ?= 1s

BIN          := $(CURDIR)/.bin
LINT_VERSION := v2.15.0
LINT         := $(BIN)/golangci-lint-$(LINT_VERSION)

# The agent is built once from its modules, which stay out of the root module.
CONSUL_VERSION := 1.14.11
CONSUL         := $(BIN)/consul-$(CONSUL_VERSION)

# The race detector needs a C compiler; where there is none the tests run without.
HAVE_CC := $(shell command -v "$$($(GO) env CC 2>/dev/null)" >/dev/null 2>&1 && echo yes)
RACE    ?= $(if $(HAVE_CC),-race)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  narrower: make test PKG=./graph/... RUN=TestResume · SHORT=1 leaves the slow ones out · RACE= without the race detector"

.PHONY: build
build: ## the junction program, in .bin/
	$(GO) build -trimpath -o $(BIN)/ ./cmd/...

.PHONY: redis
redis: ## the redis-server that tests start: is it there, else installed where apt may
	@if [[ -n "$${JUNCTION_REDIS_SERVER:-}" ]] || command -v redis-server >/dev/null; then exit 0; fi; \
	if [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
		echo "installing redis-server, which the tests start on free ports"; \
		{ apt-get install -y --no-install-recommends redis-server || \
			{ apt-get update && apt-get install -y --no-install-recommends redis-server; }; } >/dev/null; \
	else \
		echo "The tests need redis-server 7.0 or later, and this account may not install it. Install the package redis-server" >&2; \
		echo "(Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis), or set JUNCTION_REDIS_SERVER to the program." >&2; \
		exit 1; \
	fi

.PHONY: nginx
nginx: ## the nginx that tests put in front of servers: is it there, else installed where apt may
	@if [[ -n "$${JUNCTION_NGINX:-}" ]] || command -v nginx >/dev/null; then exit 0; fi; \
	if [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
		echo "installing nginx-light, which the tests start on free ports"; \
		{ apt-get install -y --no-install-recommends nginx-light || \
			{ apt-get update && apt-get install -y --no-install-recommends nginx-light; }; } >/dev/null; \
	else \
		echo "The tests need nginx, and this account may not install it. Install the package nginx-light" >&2; \
		echo "(Debian, Ubuntu: apt-get install nginx-light; macOS: brew install nginx), or set JUNCTION_NGINX to the program." >&2; \
		exit 1; \
	fi

.PHONY: prometheus
prometheus: ## the prometheus and promtool that tests run: are they there, else installed where apt may
	@if command -v promtool >/dev/null && { [[ -n "$${JUNCTION_PROMETHEUS:-}" ]] || command -v prometheus >/dev/null; }; then exit 0; fi; \
	if [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
		echo "installing prometheus, which the tests start on free ports"; \
		{ apt-get install -y --no-install-recommends prometheus || \
			{ apt-get update && apt-get install -y --no-install-recommends prometheus; }; } >/dev/null; \
	else \
		echo "The tests need prometheus and promtool, and this account may not install them. Install the package prometheus" >&2; \
		echo "(Debian, Ubuntu: apt-get install prometheus; macOS: brew install prometheus), with promtool on PATH." >&2; \
		exit 1; \
	fi

.PHONY: consul
consul: $(CONSUL) ## the Consul agent that tests start, built once in .bin/ (takes minutes)

# Written under another name first: a build that is cut short leaves nothing that
# looks like a program. What GOFLAGS says is of the root module.
$(CONSUL): deploy/consul/go.mod deploy/consul/go.sum
	@[[ -z "$${JUNCTION_CONSUL:-}" ]] || { echo "JUNCTION_CONSUL is set, so no agent is built"; exit 0; }; \
	if [[ -x $@ ]] && $@ version 2>/dev/null | grep -q 'v$(CONSUL_VERSION)$$'; then touch $@; exit 0; fi; \
	echo "building the Consul agent $(CONSUL_VERSION) for the tests, once: it takes about 5 minutes on 2 cores"; \
	mkdir -p $(BIN); \
	cd deploy/consul; \
	GOFLAGS= GOWORK=off CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o $@.part github.com/hashicorp/consul; \
	mv $@.part $@

.PHONY: test
test: $(if $(SHORT),,redis consul nginx prometheus) ## every test, under the race detector where a C compiler is there
	$(GO) test $(RACE) -timeout 20m $(if $(SHORT),-short) $(if $(RUN),-run '$(RUN)') $(PKG)

.PHONY: check
check: lint tidy cross ## what a change must pass: lint, tidy, cross-builds, tests with -race, fuzzing
	JUNCTION_LONG=1 $(MAKE) test RACE=-race
	$(MAKE) deployment
	$(MAKE) fuzz

# Another module's tests are kept in Go's cache when only files outside of it changed.
.PHONY: deployment
deployment: ## compose file, image and Kubernetes manifests, by the readers of those who run them
	cd deploy/schema && GOWORK=off $(GO) test -count=1 ./...

.PHONY: soak
soak: redis consul ## servers, workers, Redis and Consul killed and stopped under load, for about 45 min; JUNCTION_SOAK=5m: the longest of them so long
	$(GO) test -tags soak -run '$(or $(RUN),Soak)' -v -timeout 2h ./cmd/junction

# The second module follows this one's dependencies by itself (-mod=mod).
.PHONY: conformance
conformance: build examples/conformance/node_modules/.installed ## the protocol's conformance suites through the junction program, and another implementation's server
	$(GO) run ./examples/conformance -junction $(BIN)/junction $(if $(RUN),-run '$(RUN)')
	cd examples/conformance/gosdk && GOFLAGS=-mod=mod GOWORK=off $(GO) build -trimpath -o $(BIN)/gosdk-everything github.com/modelcontextprotocol/go-sdk/conformance/everything-server
	$(if $(RUN),,$(GO) run ./examples/conformance servers -junction $(BIN)/junction -server $(BIN)/gosdk-everything)
	cd examples/conformance/gosdk && GOFLAGS=-mod=mod GOWORK=off $(GO) test $(RACE) ./...

# The suites need Node 22 or later; where it is older one comes along.
examples/conformance/node_modules/.installed: examples/conformance/package-lock.json
	@command -v npm >/dev/null || { echo "The suites come from npm, which is not on PATH: install Node.js, 22 or later" >&2; exit 1; }
	cd examples/conformance && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error $$(node -e 'if (+process.versions.node.split(".")[0] >= 22) console.log("--omit=optional")')
	@touch $@

.PHONY: lint
lint: $(LINT) ## vet and golangci-lint, pinned
	$(GO) vet $(PKG)
	$(LINT) run $(PKG)

$(LINT):
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv $(BIN)/golangci-lint $@

.PHONY: fmt
fmt: $(LINT) ## write every file the way the linters want it
	$(LINT) fmt

.PHONY: tidy
tidy: ## is go.mod complete and minimal?
	$(GO) mod tidy -diff

.PHONY: cross
cross: ## does it build for macOS and Windows, its tests too, without C?
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) build ./...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) vet ./...

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (1m)
	@$(GO) test -list '^Fuzz' $(PKG) | awk '/^Fuzz/ {t[++n]=$$1} /^ok/ {for (i=1; i<=n; i++) print $$2, t[i]; n=0}' | \
	while read -r package target; do \
		echo "fuzz $$package $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$package" </dev/null; \
	done

.PHONY: bench
bench: ## the benchmarks the performance table is made from
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) $(PKG)

.PHONY: lab
lab: ## the routing gates, 20 seeds each; PLOT=FILE.svg draws them
	$(GO) run ./cmd/junction lab --all --seeds 20 $(if $(PLOT),--plot $(PLOT))

.PHONY: clean
clean: ## remove what was built or installed here
	rm -rf $(BIN) coverage.out examples/thirdparty/node_modules examples/conformance/node_modules examples/bridge/node_modules
