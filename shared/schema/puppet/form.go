package puppet

import (
	"encoding/base64"
	"net/url"

	"github.com/Masterminds/semver/v3"
)

// The names of types whose values are texts of a form.
const (
	SemVer      = "SemVer"
	SemVerRange = "SemVerRange"
	URI         = "URI"
	Binary      = "Binary"
)

// Forms returns the names of all forms.
func Forms() []string { return []string{SemVer, SemVerRange, URI, Binary} }

// Form is a type of which documents have texts where Puppet has objects.
type Form struct {
	Describe string         // what a value is, for people
	Schema   map[string]any // of JSON Schema
	Edges    []any          // values that programs may handle wrongly
	Accepts  func(text string) bool
}

// FormOf returns a form by its name; false if that is none.
func FormOf(name string) (Form, bool) {
	text := map[string]any{"type": "string"}
	switch name {
	case SemVer:
		return Form{"a version such as 1.2.3", text,
			[]any{"0.0.0", "1.2.3", "1.0.0-rc.1+build.5", "999.999.999"}, isVersion}, true
	case SemVerRange:
		return Form{"a range of versions such as >=1.2.0 <2.0.0", text,
			[]any{"*", "1.2.3", ">=1.0.0 <2.0.0", "1.x || >=3.0.0"}, isRange}, true
	case URI:
		return Form{"a URI", text,
			[]any{"", "/a/b", "https://user@[::1]:8443/a%20b?c=d&e#f", "urn:x:y"}, isURI}, true
	case Binary:
		return Form{"base64", map[string]any{"type": "string", "contentEncoding": "base64"},
			[]any{"", "AA==", "/+8="}, isBase64}, true
	}
	return Form{}, false
}

func isVersion(text string) bool {
	_, err := semver.StrictNewVersion(text)
	return err == nil
}

func isRange(text string) bool {
	_, err := semver.NewConstraint(text)
	return err == nil
}

func isURI(text string) bool {
	_, err := url.Parse(text)
	return err == nil
}

func isBase64(text string) bool {
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil
}

// VersionRange is a range of versions, as a parameter of SemVer has it.
type VersionRange struct{ constraints *semver.Constraints }

// ReadVersionRange reads a range such as ">=1.2.0 <2.0.0"; false if the text is none.
func ReadVersionRange(text string) (VersionRange, bool) {
	c, err := semver.NewConstraint(text)
	return VersionRange{c}, err == nil
}

// Has reports whether a text is a version in the range.
func (r VersionRange) Has(text string) bool {
	v, err := semver.StrictNewVersion(text)
	return err == nil && r.constraints.Check(v)
}

// Unvalued returns the names of types of which no document has values: code, classes, resources of
// a catalogue. They are read, so that Variant[String, Callable] means String, and accept nothing.
func Unvalued() []string {
	return []string{
		"Callable", "CatalogEntry", "Class", "Default", "Deferred", "Error", "Iterator", "Object",
		"Regexp", "Resource", Runtime, "Type", "TypeAlias", "TypeReference", "TypeSet", "Unit",
	}
}

// Runtime is the name of types of other languages, such as Runtime[ruby, 'A::B'].
const Runtime = "Runtime"
