# `make help` lists what there is.
GO ?= go
BIN := bin/southbound
# The same flags everywhere, so that programs, tools and tests share what is compiled. GOGC saves a seventh of the compilers' CPU time.
export CGO_ENABLED := 0
GOFLAGS ?= -trimpath -ldflags=-s -gcflags=all=-dwarf=false
export GOFLAGS
COMPILE := GOGC=400 $(GO)

.PHONY: help build assets console-demo vscode install uninstall quickstart test test-fast e2e verify docs sim sim-services sim-mutants fuzz-api bench bench-models bench-orders bench-lists bench-console bench-peers bench-aws local local-down deploy variables destroy clean
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## build bin/southbound
	@echo "building $(BIN); without a build cache this takes one to three minutes"
	$(COMPILE) build -o $(BIN) ./cmd/southbound

assets: ## fetch what pages of the console use (diagrams, icons) in locked versions, to be part of the next build; needs npm
	@command -v npm >/dev/null || { echo 'make assets: npm is not installed (apt-get install npm)'; exit 1; }
	$(GO) run ./infra/assets

quickstart: build ## build, and deploy examples/quickstart
	$(BIN) apply examples/quickstart

console-demo: build ## build, and open the console over orders of examples/services; DIR= is a new directory for the data
	infra/console/demo.sh $(BIN)

vscode: ## pack the extension for Visual Studio Code into bin/southbound.vsix; needs npm
	@command -v npm >/dev/null || { echo 'make vscode: npm is not installed (apt-get install npm)'; exit 1; }
	rm -rf bin/vscode && mkdir -p bin && cp -r infra/editor/vscode bin/vscode
	cd bin/vscode && npm ci --omit=dev --ignore-scripts --no-audit --no-fund
	$(GO) run ./infra/editor -dir bin/vscode -out bin/southbound.vsix

PREFIX ?= /usr/local
DESTDIR ?=
UNITS = $(DESTDIR)$(PREFIX)/lib/systemd/system
COMPLETIONS = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
install: build ## PREFIX= DESTDIR=: install the program, a unit of systemd and completion; starts nothing
	install -D -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/southbound
	install -d $(UNITS) $(COMPLETIONS)
	sed 's|/usr/local|$(PREFIX)|g' infra/systemd/southbound.service > $(UNITS)/southbound.service
	chmod 0644 $(UNITS)/southbound.service
	$(BIN) completion bash > $(COMPLETIONS)/southbound

uninstall: ## PREFIX= DESTDIR=: remove what was installed; the state stays
	rm -f $(DESTDIR)$(PREFIX)/bin/southbound $(UNITS)/southbound.service $(COMPLETIONS)/southbound

docs: ## generate docs/types from the declarations of all types, and docs/language/std.md and lsm.md from these modules
	$(GO) run ./cmd/southbound types --markdown docs/types
	$(GO) test ./shared/lang/std -run TestPages -update

# Pinned, and built once: tests do without it.
LINT := golangci-lint
LINT_VERSION := v2.15.0
bin/$(LINT)-$(LINT_VERSION):
	@echo 'building $(LINT) $(LINT_VERSION), this once: about two minutes of a processor'
	@mkdir -p bin/lint
	cd / && GOBIN='$(CURDIR)/bin/lint' CGO_ENABLED=0 $(GO) install github.com/golangci/golangci-lint/v2/cmd/$(LINT)@$(LINT_VERSION)
	@mv bin/lint/$(LINT) $@ && rmdir bin/lint

verify: formatted bin/$(LINT)-$(LINT_VERSION) ## formatting, words of comments, linters of .golangci.yml, cfn-lint and checkov; installs what is missing the first time
	$(GO) run ./infra/words
	bin/$(LINT)-$(LINT_VERSION) run ./...
	$(GO) test -vet=off -tags servers -run '^(TestLint|TestCheckov)$$' ./infra

.PHONY: formatted
formatted:
	@test -z "$$(gofmt -l cmd examples functions handlers infra localstack shared)" || { gofmt -l cmd examples functions handlers infra localstack shared; exit 1; }

test: formatted ## all tests: vet, the race detector, real servers, end to end; installs what is missing
	@infra/test.sh

test-fast: formatted ## tests that need no servers
	$(GO) vet ./...
	$(GO) test -vet=off -timeout 60m ./...

e2e: ## build and deploy the stack, use it, break it, destroy it; SOUTHBOUND_E2E_ENDPOINT= for AWS or another emulator
	$(GO) test -vet=off -tags servers,e2e -count=1 -timeout 60m -parallel 6 -v ./localstack/e2e

N ?= 100000
sim: ## N= seeds of the simulator
	$(GO) test ./shared/internal/simtest/engine -run TestLong -seeds $(N) -timeout 24h -v

sim-services: ## N= seeds of the simulator of services
	$(GO) test ./shared/internal/simtest/services -run TestLong -seeds $(N) -timeout 24h -v

sim-mutants: ## look for each fault that is built into the simulators from several first seeds; the test looks for some from one
	$(GO) test ./shared/internal/simtest/engine ./shared/internal/simtest/services -run Mutants -every -timeout 24h -v

EXAMPLES ?= 200
fuzz-api: ## EXAMPLES= requests of each kind for an operation of the HTTP API, made up from its description
	$(GO) test -count 1 -timeout 10h -tags servers -v ./cmd/southbound -run TestSchemathesis -examples $(EXAMPLES) -api-seed $$$$

bench: build ## time the program against the floor, in one run; over ssh, too, where there is a server of OpenSSH
	$(GO) run ./infra/bench -bin $(BIN) $(if $(wildcard /usr/sbin/sshd),-ssh)

bench-models: build ## time models beside the reference compiler, which is installed in the cache of the user
	$(GO) run ./infra/bench -bin $(BIN) -models

bench-orders: ## time an order, an update and a delete of an instance among some that are there, and 1,000 orders at once; 10,000 take minutes to be made
	$(GO) test ./shared/service/fulfil -run '^$$' -bench 'BenchmarkOrder(OfSecrets)?$$' -benchtime 6x -timeout 30m
	$(GO) test ./shared/service/fulfil -run '^$$' -bench 'BenchmarkOrders$$' -benchtime 1x -timeout 30m

bench-lists: ## time pages of lists: 50 of 100,000 resources by each filter, of a version, and 50 of 100 and of 10,000 instances
	$(GO) test ./shared/local -run '^$$' -bench 'Benchmark(Page|Instances)$$' -benchtime 5x -timeout 30m
	$(GO) test ./shared/deploy/version -run '^$$' -bench 'BenchmarkListing$$' -benchtime 5x

bench-console: ## measure pages of the console over 100,000 resources: bytes, CPU beside that of their API calls, heap, and paint and script in Chromium
	$(GO) test -vet=off -tags servers ./shared/console -run '^$$' -bench '^Benchmark(Pages|Heap|Paint)$$' -benchtime 5x -timeout 60m

bench-peers: build ## the same with Puppet, installed from Debian
	command -v puppet >/dev/null || { apt-get update && apt-get install -y --no-install-recommends puppet; }
	$(GO) run ./infra/bench -bin $(BIN) -puppet

STACK ?= southbound
PARAMETERS ?=
export PACK ?= # read by infra/build/functions.mk
DEPLOY := $(COMPILE) run ./infra/deploy
local: ## an emulator of AWS on this machine, with the stack deployed to it; prints the environment variables to use. Half a minute; the first time some minutes
	@echo "building the deploy tool; without a build cache this takes two to four minutes" >&2
	@$(DEPLOY) local -stack $(STACK) -parameters "$(PARAMETERS)" $(if $(EMULATOR),-emulator $(EMULATOR)) $(if $(PORT),-port $(PORT))

local-down: ## stop it, and remove what it wrote; nothing is left but what is installed in your cache folder
	@$(DEPLOY) local-down

deploy: ## STACK= PARAMETERS="Alarms=true" PACK=DIR: build, and deploy into the account of your AWS credentials
	@$(DEPLOY) up -stack $(STACK) -parameters "$(PARAMETERS)"

variables: ## STACK=: the environment variables of a deployed stack
	@$(DEPLOY) variables -stack $(STACK)

destroy: ## STACK= DATA=yes: remove agents' queues and the stack; with DATA=yes its table and bucket, too
	@$(DEPLOY) destroy -stack $(STACK) $(if $(filter yes,$(DATA)),-data)

bench-aws: ## count what the AWS home asks for, hold it against the budgets, and print what a million resources cost: the tables of docs/costs.md
	$(GO) test -count 1 -timeout 15m -tags servers -v ./infra/aws/cost -whole

clean: ## remove what was built
	rm -rf bin .aws-sam/build
