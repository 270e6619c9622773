package model

import (
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Model is a desired state before it becomes a version.
type Model struct {
	Resources []resource.Resource
	Agents    []resource.Agent      // described agents, in the order of the documents
	Files     map[string]state.Blob // the files that resources refer to, by hash
	// Where returns the place of resource i, of one of its attributes, or of its "requires",
	// "agent", "type" or "set". Nil: not known.
	Where func(i int, attribute string) diag.Pos
	// Places are the places of resources by id, if Where does not return those of the documents, as
	// in a server; nil: Where does.
	Places map[resource.ID]diag.Pos
	// WhereAgent returns the place of the description of an agent. Nil: not known.
	WhereAgent func(name string) diag.Pos
	// Fingerprint identifies all sources from which the model was read; "": they are unknown.
	Fingerprint string
	// Valid means that the exporter has validated the model, with the types and handlers of the
	// same program, and has not changed it since.
	Valid bool
}

// Clone returns a copy of a model whose references can be resolved.
func (m *Model) Clone() *Model {
	out := *m
	out.Resources, out.Agents = slices.Clone(m.Resources), slices.Clone(m.Agents)
	for i := range out.Resources {
		r := &out.Resources[i]
		r.Attributes, r.Requires = maps.Clone(r.Attributes), slices.Clone(r.Requires)
	}
	return &out
}
