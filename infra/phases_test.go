package infra_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPatternsOfPhasesNameTests pins that each pattern by which the test command picks tests of
// handlers for the race detector still picks some: one that is renamed would otherwise be left out
// there, and nobody would be told.
func TestPatternsOfPhasesNameTests(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("test.sh")
	if err != nil {
		t.Fatal(err)
	}
	patterns := ""
	for _, m := range regexp.MustCompile(`(?m)^at_once\+?='(.+)'$`).FindAllSubmatch(script, -1) {
		patterns += string(m[1])
	}
	list := regexp.MustCompile(`(?m)^calls=\(([^)]+)\)$`).FindSubmatch(script)
	if patterns == "" || list == nil {
		t.Fatal("test.sh has no such patterns, or no packages for them")
	}
	tests, texts := named(t, append(strings.Fields(string(list[1])),
		"./shared/provider/providertest", "./localstack/server"))
	for _, pattern := range regexp.MustCompile(`\|(?:[^()|]|\([^)]*\))+|^[^|]+`).
		FindAllString(patterns, -1) {
		test, within, _ := strings.Cut(strings.TrimPrefix(pattern, "|"), "/")
		if !matches(test, tests) {
			t.Errorf("no test is called %s, in %s", test, list[1])
		}
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(within, -1) {
			if !matches("^"+name+"$", texts) {
				t.Errorf("no part of a test can be called %s", name)
			}
		}
	}
}

func matches(pattern string, names map[string]bool) bool {
	expression := regexp.MustCompile(pattern)
	for name := range names {
		if expression.MatchString(name) {
			return true
		}
	}
	return false
}

// named returns the names of the tests of packages, and all texts of those packages, which is what
// parts of tests are named by.
func named(t *testing.T, packages []string) (tests, texts map[string]bool) {
	t.Helper()
	tests, texts = map[string]bool{}, map[string]bool{}
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join("..", p, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", p, err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil,
				parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if strings.HasPrefix(n.Name.Name, "Test") && n.Recv == nil {
						tests[n.Name.Name] = true
					}
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); err == nil {
						texts[text] = true
					}
				}
				return true
			})
		}
	}
	return tests, texts
}
