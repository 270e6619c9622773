# What sam build runs for a function, from the root of the repository: build-<LogicalId>. template.yaml chooses the folder, and so the processor, by its
# parameter Architecture.
.PHONY: build-%Function
build-%Function:
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build -trimpath -tags lambda.norpc -ldflags "-s -w" -o "$(ARTIFACTS_DIR)/bootstrap" ./functions/$(shell echo $* | tr A-Z a-z)
