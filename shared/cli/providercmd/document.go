package providercmd

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"

	"southbound/shared/cli/output"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// described is a resource in a document.
type described struct {
	Type       string   `yaml:"type"`
	Agent      string   `yaml:"agent"`
	Attributes any      `yaml:"attributes"`
	Requires   []string `yaml:"requires,omitempty"`
}

// documentOf returns the document of adopted resources. A comment at each has its address in the state
// file.
func documentOf(plan *provider.Adoption) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("# `southbound provider adopt` has written this document from a state file.\n" +
		"southbound: 1\nagents:\n")
	for _, a := range plan.Agents {
		if a.Note != "" {
			out.WriteString("  # " + comment(a.Note) + "\n")
		}
		options := map[string]any{"transport": a.Transport}
		for name, v := range a.Options {
			options[name] = v
		}
		if err := indented(&out, map[string]any{a.Name: options}); err != nil {
			return nil, err
		}
	}
	out.WriteString("resources:\n")
	for i := range plan.Resources {
		r := &plan.Resources[i]
		attributes, err := plainForm(r.Attributes)
		if err != nil {
			return nil, err
		}
		out.WriteString("  # " + comment(r.Source) + "\n")
		for _, n := range r.Notes {
			out.WriteString("  # " + comment(n) + "\n")
		}
		if err := indented(&out, []described{{r.Type, r.Agent, attributes, requirements(r)}}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// plainForm returns attributes in the form of documents, with numbers that YAML writes exactly.
func plainForm(attributes map[string]any) (any, error) {
	out := make(map[string]any, len(attributes))
	for name, v := range attributes { // one at a time: the attributes themselves are never a reference
		text, err := resource.CanonicalValue(v)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, adopting, err)
		}
		var plain any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&plain); err != nil {
			return nil, fault.Wrap(fault.Internal, adopting, err)
		}
		out[name] = plain
	}
	return output.Numbered(out), nil
}

// indented writes a value as YAML, with two spaces before each line.
func indented(out *bytes.Buffer, v any) error {
	text, err := yaml.Marshal(v)
	if err != nil {
		return fault.Wrap(fault.Internal, adopting, err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimRight(line, "\n") != "" {
			out.WriteString("  ")
		}
		out.WriteString(line)
	}
	return nil
}
