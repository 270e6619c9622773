package jinja

import (
	"strings"

	"southbound/shared/lang/types"
)

// Format formats values as str.format of Python does: "{} {name[key]:>5}". host answers for the
// attributes of instances.
func Format(text string, args []types.Value, named *types.Dict, host Host) (string, error) {
	s := bare(host)
	f := &formatter{s: s, args: args}
	if named != nil {
		f.named = named
	}
	return f.format(text, 0)
}

// JSON returns a value as json.dumps of Python writes it.
func JSON(v types.Value) (string, error) {
	w := &jsonWriter{s: bare(Variables{}), inOrder: true}
	err := w.write(v, 0)
	return w.b.String(), err
}

// Upper returns a text in capitals, as upper() of Python does.
func Upper(text string) string { return upper(text) }

// Lower returns a text in small letters, as lower() of Python does.
func Lower(text string) string { return lower(text) }

// Capitalized returns a text with a capital first and small letters behind it.
func Capitalized(text string) string { return capitalized(text) }

// bare is a state outside of a template.
func bare(host Host) *state {
	m := modelsOf(host)
	m.passed = true // as all that a plugin is given
	return &state{
		rendering: &rendering{host: host, lib: newLibrary(), work: &work{}, models: m},
		out:       &strings.Builder{}, scope: &scope{top: true},
	}
}
