package output

import (
	"encoding/json"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestNumbered pins that numbers beyond those of machines stay numbers in a document.
func TestNumbered(t *testing.T) {
	t.Parallel()
	in := map[string]any{"a": []any{json.Number("123456789012345678901234567890"),
		json.Number("1.5"), json.Number("7")}, "b": "7"}
	text, err := yaml.Marshal(Numbered(in))
	if want := "a:\n    - 123456789012345678901234567890\n    - 1.5\n    - 7\n" +
		"b: \"7\"\n"; err != nil || string(text) != want {
		t.Errorf("%s, %v; expected %s", text, err, want)
	}
}
