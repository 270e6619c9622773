package deploy

import (
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Model is desired state before it becomes a version.
type Model struct {
	Resources []resource.Resource
	Agents    []resource.Agent // those that are described; others are {transport: local}
	Files     map[string]Blob  // by hash: what the resources refer to
	// Where returns the place of resource i, of one of its attributes, or of its "requires", "agent", "type" or "set". Nil: not known.
	Where func(i int, attribute string) diag.Pos
	// Fingerprint identifies everything the model was read from; "" when that is not known.
	Fingerprint string
}
