package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/diag"
)

// TestCountsAll pins that of an input with more problems than are shown the first are shown, and
// the others are counted: those that were not even kept, those that later checks find, and none of
// them twice.
func TestCountsAll(t *testing.T) {
	t.Parallel()
	types := testTypes(t)
	for why, c := range map[string]struct {
		item string
		n    int
	}{
		"more than are shown": {"7", 101},
		"more than are kept":  {"7", 2*maxProblems + 3},
		"found by later checks": {
			`{"type": "net::Port", "attributes": {"host": "h%d", "port": 70000}}`, maxProblems + 7},
		"found by both, told once": {
			`{"type": "fs::File", "attributes": {"path": "/%d", "mode": {"file": "gone"}}}`,
			maxProblems + 9},
		"without identity, as well": {
			`{"type": "net::Port", "attributes": {"host": [%d], "port": 1}}`, maxProblems + 5},
	} {
		for _, name := range []string{"x.yaml", "x.json"} {
			var b strings.Builder
			b.WriteString(`{"southbound": 1, "defaults": {"agent": "a"}, "resources": [`)
			for i := range c.n {
				item := c.item
				if strings.Contains(item, "%d") {
					item = fmt.Sprintf(item, i)
				}
				b.WriteString(item + map[bool]string{true: "]}", false: ",\n"}[i == c.n-1])
			}
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := Load(t.Context(),
				Options{Path: path, Types: types,
					Check: deploy.New(deploy.Config{Types: types}).ValidateClosed})
			if err == nil { // all is for later checks
				m, _, _ := Load(t.Context(), Options{Path: path, Types: types})
				err = deploy.New(deploy.Config{Types: types}).ValidateClosed(m).Err()
			}
			problems, more := diag.Of(err)
			if len(problems) != diag.Limit || len(problems)+more != c.n {
				t.Errorf("%s, %s: %d problems and %d more, want %d in all", why, name,
					len(problems), more, c.n)
			}
			if len(problems) > 0 && problems[len(problems)-1].Line != diag.Limit {
				t.Errorf("%s, %s: the last that is shown is %v", why, name,
					problems[len(problems)-1])
			}
		}
	}
}
