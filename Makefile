# Needs Go, make and git. `make` alone lists what there is.

GOLANGCI_VERSION := v2.15.0
GOLANGCI         := .bin/golangci-lint-$(GOLANGCI_VERSION)
VULNCHECK        := v1.9.0
TOOL             := go tool -modfile=.tools/tools.mod
SERVERS          := go run ./test/servers --

# `make check` runs these folders, and in all others the tests whose names begin with
# TestLong. `make test` and `make race` run the rest.
LONG := backend clients docs faults packaging servers traces webhooks

# Runs `go test` with what stands behind it, on servers in memory, and names each package as it
# ends; a table tells the results. It is built first: `go tool` answers 0 where its program was killed.
GOTESTSUM := .bin/gotestsum
QUICKLY    = go run ./test/servers -memory -- $(GOTESTSUM) --format=pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped \
	--jsonfile=.bin/$@.json --post-run-command='go run ./.tools/results .bin/$@.json' -- -vet=off
QUICK      = $$(go list ./... | grep -v -E '^waybill/test/($(subst $() ,|,$(LONG)))(/|$$)')

# Go folders only: gofmt would otherwise walk .git and .bin.
GO_DIRS := $(wildcard domain application adapters ports cmd configs test)

# How long `make fuzz` spends on each target.
FUZZTIME ?= 30s
export FUZZTIME

# The binary is static and the tests run as it does; the race detector alone
# needs cgo.
export CGO_ENABLED := 0

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run day build packages test check long long-folders race pgbouncer citus fmt vet openapi house lint lint-install vulncheck generate generators verify bench bench-large soak storm seeds fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: build ## build and run everything embedded, in the foreground; ARGS="--reset" and the like are passed on
	@exec .bin/waybill dev $(ARGS)

day: build ## play a day of 500 live deliveries with failures in 30 minutes, to try the console as its dispatcher; ARGS="-minutes 5 -seed 7" and the like are passed on
	@go build -o .bin/day ./test/day
	@exec .bin/day $(ARGS)

build: ## build .bin/waybill
	@echo 'building .bin/waybill; the first time takes a minute or two'
	@go build -ldflags '-s -w' -o .bin/waybill ./cmd/waybill

test: packages fmt vet openapi verify $(GOTESTSUM) ## what to run before a commit: format, vet, generated files, descriptions of the APIs, and the tests, with their servers
	$(QUICKLY) -skip '^TestLong' -timeout 20m $(QUICK)

packages: ## install what the tests use beside Go, where root may
	@.tools/packages.sh

check: ## the rest, which takes longer: every page in every look, faults, samples, PgBouncer, the race detector, lint, vulnerabilities
	@.tools/check.sh

long: $(GOTESTSUM) ## run the tests named TestLong..., which `make test` leaves out
	$(QUICKLY) -run '^TestLong' -timeout 20m $$(grep -rl --include='*_test.go' 'func TestLong' $(GO_DIRS) | xargs -n 1 dirname | sort -u | sed 's|^|./|')

long-folders: $(GOTESTSUM) ## run the folders of tests that `make test` leaves out: faults, samples of the documentation, clients and the like
	$(QUICKLY) -timeout 20m $(foreach folder,$(LONG),./test/$(folder)/...)

race: export CGO_ENABLED := 1
# The engine of SQLite is translated from C: to watch it too finds nothing of ours and doubles the time.
race: export GOFLAGS := $(GOFLAGS) -gcflags=modernc.org/sqlite/lib=-race=false
race: $(GOTESTSUM) ## run the tests of `make test` under the race detector; needs gcc
	$(QUICKLY) -race -skip '^Test(Long|AWalkInABrowser|SQLiteConforms$$)' -timeout 25m $(QUICK) # plain Postgres takes the same exam

$(GOTESTSUM): .tools/tools.mod
	go build -modfile=.tools/tools.mod -o $@ gotest.tools/gotestsum

pgbouncer: ## run the e2e suite through PgBouncer in transaction mode
	WAYBILL_E2E_POOLER=pgbouncer $(SERVERS) go test ./test/e2e -count=1 -timeout 460s

citus: CITUS = go run ./test/servers -citus --
citus: ## run the storage exam, the kill of a node, the e2e suite, webhooks and their faults on a cluster of Citus, where it is installed
	$(CITUS) go test ./adapters/storage/gormstore -run '^TestLongCitus' -count=1 -timeout 30m
	$(CITUS) go test ./test/e2e -count=1 -parallel 1 -timeout 40m # three servers of databases and the program share the machine
	$(CITUS) go test ./test/webhooks -count=1 -timeout 30m
	$(CITUS) go test ./test/faults -run '$(or $(RUN),Webhook|Receiver)' -count=1 -timeout 60m

fmt: ## fail where gofmt would change a file, and name it
	@unformatted=$$(gofmt -l $(GO_DIRS)) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi

vet: ## run go vet
	go vet ./...

openapi: ## lint the descriptions of the APIs, and compare the public one with the last release's
	.tools/openapi.sh

house: ## print sizes, longest files and functions, and what one more error code, scope, setting, vehicle, event, page or store touches
	@go run ./.tools/house

lint: $(GOLANGCI) ## run golangci-lint, built into .bin on first use
	$(GOLANGCI) run ./...

lint-install: $(GOLANGCI) ## build the linter

vulncheck: ## fail where a known vulnerability can be reached; left out where the database of them cannot
	@.tools/vulncheck.sh $(VULNCHECK)

$(GOLANGCI):
	@echo "installing golangci-lint $(GOLANGCI_VERSION) into .bin"
	@mkdir -p .bin/.install
	@GOBIN=$(CURDIR)/.bin/.install go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv .bin/.install/golangci-lint $@ && rmdir .bin/.install

generate: ## generate the mocks of ports, the wiring of cmd/waybill and the clients of the API
	.tools/mocks.sh
	$(TOOL) wire ./cmd/waybill
	.tools/clients.sh

generators: ## run the generators and validators that integrators use on the description, and their clients on a sandbox; needs the network the first time, node and npm
	.tools/generators.sh

verify: ## generate again and fail where a generated file was stale
	@MAKE="$(MAKE)" .tools/verify.sh

bench: ## measure creates and reads beside the speed of the database; ARGS=pace measures an ordinary load, ARGS=webhooks webhooks
	$(SERVERS) go run ./test/bench $(ARGS)

bench-large: ## measure requests at 1 million deliveries of a year and at 100 million, or as many as the disk has room for at 4 kB each beside 12 GB that stay free; ROWS=20000,100000 takes fewer
	$(SERVERS) go run ./test/bench large $(if $(ROWS),-rows $(ROWS)) $(ARGS)

soak: ## keep a service busy for MINUTES, 30 where not said, and watch cleaning, tables and memory
	$(SERVERS) go run ./test/bench soak $(if $(MINUTES),-minutes $(MINUTES)) $(ARGS)

storm: ## kill, stall and cut off processes under load, the long form; RUN=Bulks and the like pick some
	WAYBILL_STORM=full $(SERVERS) go test ./test/faults -run '$(or $(RUN),.)' -count=1 -timeout 120m -v
	WAYBILL_STORM=full $(SERVERS) go test ./adapters/storage/gormstore -run '$(or $(RUN),Feed)' -count=1 -timeout 60m -v

seeds: ## play SEEDS worlds of the simulation, 10000 where not said; SEED=537 plays and shows that one
	$(if $(SEED),,SEEDS=$(or $(SEEDS),10000)) go test ./test/simulation -run '$(if $(SEED),TestSeed$$,TestWorlds)' $(if $(SEED),-seed $(SEED)) -count=1 -timeout 60m -v

fuzz: ## fuzz every native target for FUZZTIME each
	.tools/fuzz.sh

clean: ## remove what was built; data in .waybill stays
	rm -rf .bin coverage.out coverage.html
