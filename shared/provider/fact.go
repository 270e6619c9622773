package provider

import (
	"strings"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The maximum sizes of a fact, in bytes.
const (
	MaxFact     = 16 << 10 // of the value in canonical JSON, or of a text
	MaxFactName = 255
)

// FactOf returns the value of a fact in the form in which it is stored. It returns fault.Invalid if
// the name has not 1 to MaxFactName bytes, if the value has no JSON form, or if it is longer than
// MaxFact.
func FactOf(name string, value any) (resource.Data, error) {
	data, err := resource.DataOf(value)
	if err != nil {
		return data, fault.Wrap(fault.Invalid, "its value has no JSON form", err)
	}
	return data, CheckFact(name, data)
}

// CheckFact checks the sizes of a fact. See FactOf.
func CheckFact(name string, value resource.Data) error {
	size := len(value.JSON())
	if value.IsText() {
		size = len(value.Text())
	}
	switch {
	case name == "" || len(name) > MaxFactName:
		return fault.New(fault.Invalid, "", "its name has %d bytes, and a name has 1 to %d", len(name),
			MaxFactName).WithHint("shorten the name in the handler")
	case size > MaxFact:
		return fault.New(fault.Invalid, "", "its value has %d bytes, and a value has at most %d", size,
			MaxFact).WithHint("report the parts that other resources need as facts of their own")
	}
	return nil
}

// TextFacts returns texts as values of facts.
func TextFacts(texts map[string]string) map[string]any {
	out := make(map[string]any, len(texts))
	for name, text := range texts {
		out[name] = text
	}
	return out
}

// short returns the beginning of a name for a message.
func short(name string) string {
	const most = 64
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "…"
	}
	return name
}
