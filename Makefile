# `make help` lists what there is.
GO ?= go
BIN := bin/southbound

.PHONY: help build quickstart test test-aws verify sim sim-aws bench bench-peers local local-down deploy variables destroy clean
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## build bin/southbound
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN) ./cmd/southbound

quickstart: build ## build, and deploy examples/quickstart
	$(BIN) apply examples/quickstart

verify: ## formatting and vet
	@test -z "$$(gofmt -l cmd examples functions handlers infra localstack shared)" || { gofmt -l cmd examples functions handlers infra localstack shared; exit 1; }
	$(GO) vet ./...

test: verify ## all tests, with the race detector, and more of the simulator without it
	$(GO) test -race -timeout 15m ./...
	$(GO) test -timeout 10m ./shared/deploy/sim ./shared/aws/awssim

test-aws: ## tests of the AWS ports against real servers; needs Java 17, Maven and Python 3.13
	$(GO) vet -tags servers ./shared/aws/... ./shared/transport/... ./handlers/aws ./localstack/...
	$(GO) test -race -timeout 15m -tags servers ./shared/aws/... ./shared/transport/... ./handlers/aws ./localstack/...

N ?= 100000
sim: ## N= seeds of the simulator
	$(GO) test ./shared/deploy/sim -run TestLong -seeds $(N) -timeout 24h -v

sim-aws: ## N= seeds of the simulator of the state on AWS
	$(GO) test ./shared/aws/awssim -run TestLong -seeds $(N) -timeout 24h -v

bench: build ## time the program against the floor, in one run
	$(GO) run ./shared/bench -bin $(BIN)

bench-peers: build ## the same with Puppet, installed from Debian
	command -v puppet >/dev/null || { apt-get update && apt-get install -y --no-install-recommends puppet; }
	$(GO) run ./shared/bench -bin $(BIN) -puppet

STACK ?= southbound
PARAMETERS ?=
DEPLOY := $(GO) run ./infra/deploy
local: ## an emulator of AWS on this machine, with the stack deployed to it; prints the environment variables to use
	@$(DEPLOY) local -stack $(STACK) -parameters "$(PARAMETERS)" $(if $(EMULATOR),-emulator $(EMULATOR)) $(if $(PORT),-port $(PORT))

local-down: ## stop it; nothing is left
	@$(DEPLOY) local-down

deploy: ## STACK= PARAMETERS="Alarms=true": build, and deploy into the account of your AWS credentials
	@$(DEPLOY) up -stack $(STACK) -parameters "$(PARAMETERS)"

variables: ## STACK=: the environment variables of a deployed stack
	@$(DEPLOY) variables -stack $(STACK)

destroy: ## STACK= DATA=yes: remove agents' queues and the stack; with DATA=yes its table and bucket, too
	@$(DEPLOY) destroy -stack $(STACK) $(if $(filter yes,$(DATA)),-data)

clean: ## remove what was built
	rm -rf bin .aws-sam/build
