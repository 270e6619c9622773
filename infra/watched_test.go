package infra_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWhatIsNotWatchedStartsNothing pins that packages which the test command keeps from the race
// detector have nothing to be watched: neither they, nor their tests, nor what of this module they
// use starts a goroutine.
func TestWhatIsNotWatchedStartsNothing(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("test.sh")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^quiet=\(([^)]+)\)$`).FindSubmatch(script)
	if list == nil {
		t.Fatal("test.sh has no list of them")
	}
	const format = `{{if not .Standard}}{{.ImportPath}}	{{.Dir}}	{{join .GoFiles " "}}{{end}}`
	args := append([]string{"list", "-tags", "servers", "-deps", "-test", "-f", format},
		strings.Fields(string(list[1]))...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 || !strings.HasPrefix(fields[0], "southbound/") ||
			strings.HasSuffix(fields[0], ".test") {
			continue
		}
		for name := range strings.FieldsSeq(fields[2]) {
			seen++
			for _, at := range starts(t, filepath.Join(fields[1], name)) {
				t.Errorf("%s starts a goroutine: let the race detector watch %s", at, fields[0])
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d files were read", seen)
	}
}

// starts returns where a file starts goroutines.
func starts(t *testing.T, path string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		starts := false
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.SelectorExpr:
			starts = n.Sel.Name == "Go" // of a group
		}
		if starts {
			out = append(out, files.Position(n.Pos()).String())
		}
		return true
	})
	return out
}
