// Package document writes resources and agents in the form that documents have.
package document

import (
	"encoding/json"
	"math/big"

	"southbound/shared/api/wire"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Agent describes an agent in the form of documents; nil for an agent that only resources
// name.
func Agent(a resource.Agent) map[string]any {
	if !a.Described {
		return nil
	}
	out := map[string]any{"transport": a.Transport}
	if a.Lanes > 1 {
		out["lanes"] = a.Lanes
	}
	for name, v := range a.Options {
		v, err := resource.Walk(v, func(ref any) (any, error) {
			if s, ok := ref.(resource.Secret); ok {
				s.Version = "" // the current version, which the export has determined
				return s, nil
			}
			return ref, nil
		})
		if err == nil {
			out[name] = written(v)
		}
	}
	return out
}

// Literal returns a value of an attribute in the form that documents need for it: a value that
// looks like a reference is wrapped.
func Literal(v any) any {
	if looksLikeReference(v) {
		return map[string]any{"value": written(v)}
	}
	return written(v)
}

// looksLikeReference reports whether a document would interpret a value as a reference.
func looksLikeReference(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, form := range []string{"file", "secret", "parameter", "fact", "value"} {
			if _, has := v[form]; has {
				return true
			}
		}
		if _, parts := v["text"].([]any); parts && len(v) == 1 {
			return true
		}
		for _, e := range v {
			if looksLikeReference(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if looksLikeReference(e) {
				return true
			}
		}
	}
	return false
}

// written returns a value as the encoders write it. References are written in their own forms.
func written(v any) any {
	return resource.Map(v, func(v any) any {
		switch v := v.(type) {
		case *big.Int:
			return json.Number(v.String())
		case float64:
			if text, err := resource.CanonicalValue(v); err == nil {
				return json.Number(text) // 2.0 stays a float
			}
			return v
		case resource.File:
			return map[string]any{"file": FilesDir + "/" + v.Hash}
		}
		return resource.Form(v)
	})
}

// Description is a resource of a version in the form of documents.
type Description struct {
	ID             resource.ID    `json:"id"`
	Type           string         `json:"type"`
	Agent          string         `json:"agent"`
	Attributes     map[string]any `json:"attributes"`
	Requires       []resource.ID  `json:"requires"`
	Set            string         `json:"set"`
	Purged         bool           `json:"purged"`
	PurgeOnDelete  bool           `json:"purge_on_delete"`
	ReportOnly     bool           `json:"report_only"`
	SendEvent      bool           `json:"send_event"`
	ReceiveEvents  bool           `json:"receive_events"`
	PreventDestroy bool           `json:"prevent_destroy"`
	// Place is not part of the document.
	Place *diag.Pos `json:"place,omitempty" doc:"place in the documents or the model that were exported"`
}

// FilesDir is the directory of files beside the document of a version. The document refers to them
// there by their hashes.
const FilesDir = "files"

// Describe converts a resource to the form of documents.
func Describe(r *resource.Resource) Description {
	d := Description{ID: r.ID, Type: r.Type, Agent: r.Agent, Attributes: map[string]any{},
		Requires: wire.OrEmpty(r.Requires), Set: r.Set, Purged: r.Purged,
		PurgeOnDelete: r.PurgeOnDelete, ReportOnly: r.ReportOnly, SendEvent: r.SendEvent,
		PreventDestroy: r.PreventDestroy,
		ReceiveEvents:  r.ReceiveEvents}
	for name, v := range r.Attributes {
		d.Attributes[name] = Literal(v)
	}
	return d
}
