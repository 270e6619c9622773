package jinja

import (
	"southbound/shared/lang/types"
)

// Format formats values as Python's str.format does: "{} {name[key]:>5}". host provides the
// attributes of instances.
func Format(text string, args []types.Value, named *types.Dict, host Host) (string, error) {
	s := bare(host)
	f := &formatter{s: s, args: args}
	if named != nil {
		f.named = named
	}
	return f.format(text, 0)
}

// JSON returns a value as Python's json.dumps writes it.
func JSON(v types.Value) (string, error) {
	w := &jsonWriter{s: bare(Variables{}), inOrder: true}
	err := w.write(v, 0)
	return w.b.String(), err
}

// Upper returns a text in upper case, as Python's upper() does.
func Upper(text string) string { return upper(text) }

// Lower returns a text in lower case, as Python's lower() does.
func Lower(text string) string { return lower(text) }

// Capitalized returns a text with its first character in upper case, and all others in lower case.
func Capitalized(text string) string { return capitalized(text) }

// bare returns a state outside of a template.
func bare(host Host) *state {
	m := modelsOf(host)
	m.passed = true // all arguments of a plugin are passed values
	return &state{
		rendering: &rendering{host: host, lib: newLibrary(), work: &work{}, models: m},
		out:       &output{}, scope: &scope{top: true},
	}
}
