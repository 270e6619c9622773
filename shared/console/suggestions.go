package console

import (
	"encoding/json"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/diffview"
)

// sourceModel is the source of a parameter whose value is a list of suggested values.
const sourceModel = "model"

// suggestions returns the values that forms suggest for a parameter; false: it has a value instead.
func suggestions(p *state.Parameter) ([]string, bool) {
	if p.Source != sourceModel {
		return nil, false
	}
	var list []any
	d := json.NewDecoder(strings.NewReader(p.Value))
	d.UseNumber()
	if d.Decode(&list) != nil {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, v := range list[:min(len(list), maxTicked)] {
		out = append(out, suggestion(v))
	}
	return out, true
}

// suggestion returns a suggested value for people: a text, or a label with its value.
func suggestion(v any) string {
	switch v := v.(type) {
	case string:
		return line(cutEnd(v, 200))
	case map[string]any:
		label, isLabel := v["label"].(string)
		if value, has := v["value"]; isLabel && has {
			return line(cutEnd(label, 200)) + " (" + diffview.Short(value) + ")"
		}
	}
	return diffview.Short(v)
}
