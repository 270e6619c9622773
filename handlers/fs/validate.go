package fs

import (
	"southbound/handlers/internal/textfile"
	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// mannerOf returns the manner that a resource sets.
func mannerOf(r provider.Resource) (textfile.Manner, error) {
	m := textfile.AnyFile()
	m.Backup = suffixOf(r)
	c, err := textfile.CheckOf(r.Attributes["validate"])
	if c != nil {
		m.Checks = []textfile.Check{c}
	}
	return m, err
}

func validateAttribute() schema.Attribute {
	return schema.Attribute{Name: "validate", Type: "Optional[Variant[String[1],Array[String,1]]]",
		Behaviour: schema.Parameter,
		Description: `a command that checks new content before it replaces the old: % is the path of a file with the new content, as in ` +
			`[visudo, -cf, "%"]. A list of arguments, or a text for /bin/sh -c; %% is a single %. If it fails, nothing is changed. Dry runs do not run it`}
}

func validCheck(attrs map[string]any) []diag.Problem {
	v := attrs["validate"]
	if v == nil {
		return nil
	}
	if provider.HasSecret(v) {
		return []diag.Problem{{Attribute: "validate",
			Message: "a secret in a command line can be seen by everybody on the machine",
			Hint:    "read it from a file in the command"}}
	}
	if _, err := textfile.CheckOf(v); err != nil && len(resource.References(v)) == 0 {
		return []diag.Problem{{Attribute: "validate", Message: err.Error(),
			Hint: `write % where its path goes: "visudo -cf %"`}}
	}
	return nil
}
