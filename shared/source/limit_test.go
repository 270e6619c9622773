package source

import (
	"errors"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// TestLimit pins that the library stops at the first list or map too many, wherever that is, and that what is within the limits is read.
func TestLimit(t *testing.T) {
	t.Parallel()
	const most = 300
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"nested dashes":     {strings.Repeat(strings.Repeat("- ", 90)+"a\n", 4), false},
		"lists in a list":   {"[" + strings.Repeat("[],", most) + "]", false},
		"as many as may be": {"[" + strings.Repeat("{},", most-1) + "]", true},
		"maps in a list":    {strings.Repeat("- a: 1\n", most), false},
		"texts":             {"- |\n" + strings.Repeat("  - [{ - \n", 10*most) + "- '" + strings.Repeat("[{", most) + "'\n", true},
		"in a later one":    {"a\n---\n" + strings.Repeat("- - a\n", most), false},
		"as deep as may be": {strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), true},
		"in blocks, too":    {strings.Repeat("- ", maxDepth) + "a\n", true},
	} {
		loader, err := yaml.NewLoader(strings.NewReader(c.text), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(limit(most)))))
		for err == nil {
			err = loader.Load(&yaml.Node{})
		}
		if errors.Is(err, io.EOF) != c.ok || !c.ok && !strings.Contains(err.Error(), tooMany) {
			t.Errorf("%s: %v", name, err)
		}
	}
	deep := (&report{}).parsed(strings.Repeat("- ", 20_000) + "a")
	if len(deep.list) != 1 || !strings.Contains(deep.list[0].Message, "exceeded max depth of 10000") {
		t.Errorf("nested dashes without end: %v", deep.list)
	}
}

// parsed reads a text as YAML.
func (r *report) parsed(text string) *report {
	r.parseYAML([]byte(text))
	return r
}
