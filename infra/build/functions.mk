# What sam build runs for a function, from the root of the repository: build-<LogicalId>. template.yaml chooses the folder, and so the processor, by its
# parameter Architecture. PACK is the directory of a program with handlers of its own, which then is each of the functions; see docs/handlers.md.
.PHONY: build-%Function
build-%Function:
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build $(if $(PACK),-C "$(abspath $(PACK))") -trimpath -tags lambda.norpc -ldflags "-s -w" -o "$(abspath $(ARTIFACTS_DIR))/bootstrap" \
		$(if $(PACK),.,./functions/$(shell echo $* | tr A-Z a-z))

# The Python function is the handler function with a script that Lambda's runtime of Python starts in place of its own program.
.PHONY: build-PythonFunction
build-PythonFunction:
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build $(if $(PACK),-C "$(abspath $(PACK))") -trimpath -tags lambda.norpc -ldflags "-s -w" -o "$(abspath $(ARTIFACTS_DIR))/bootstrap" \
		$(if $(PACK),.,./functions/handler)
	install -m 0755 infra/build/start "$(abspath $(ARTIFACTS_DIR))/start"
