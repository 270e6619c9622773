package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy"
	"southbound/shared/diag"
)

// badCase is an input that is refused, and everything that is said of it.
type badCase struct {
	name, why, text string
	want            []string // line:column | resource | attribute | message | hint
}

// head starts the documents of most cases: resources follow at line 4.
const head = "southbound: 1\ndefaults: {agent: a}\nresources:\n"

// TestProblems pins what authors read: every problem, where it is, what it is about and what to do,
// all at once and in order.
func TestProblems(t *testing.T) {
	t.Parallel()
	for file, cases := range map[string][]badCase{
		"yaml.yaml": yamlProblems(), "document.yaml": documentProblems(),
		"resource.yaml": resourceProblems(), "value.yaml": valueProblems(),
		"json.json": jsonProblems(), "-": linesProblems(),
	} {
		for _, c := range cases {
			t.Run(file+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				problems := problemsOf(t, dir, file, c.text)
				names := strings.NewReplacer(filepath.Join(dir, file), "$FILE", dir, "$DIR")
				var got []string
				for _, p := range problems {
					if want := filepath.Join(dir, file); p.File != want && p.File != "-" {
						t.Errorf("a problem in %q, want %q", p.File, want)
					}
					if p.Hint == "" {
						t.Errorf("no hint: %v", p)
					}
					line := fmt.Sprintf("%d:%d | %s | %s | %s | %s", p.Line, p.Column, p.Resource,
						p.Attribute, p.Message, p.Hint)
					got = append(got, names.Replace(line))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.why, diff)
				}
			})
		}
	}
}

// problemsOf loads a text as the command line does.
func problemsOf(t *testing.T, dir, file, text string) diag.Problems {
	t.Helper()
	opts := Options{Path: "-", Stdin: strings.NewReader(text), Types: testTypes(t)}
	validate := deploy.New(deploy.Config{Types: opts.Types}).ValidateClosed
	opts.Check = validate
	if file != "-" {
		opts.Path = filepath.Join(dir, file)
		if err := os.WriteFile(opts.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := Load(context.Background(), opts)
	if err == nil {
		err = validate(m).Err()
	}
	problems, ok := err.(diag.Problems) // Load returns it as it is
	if !ok {
		t.Fatalf("got %v, want problems", err)
	}
	return problems
}
