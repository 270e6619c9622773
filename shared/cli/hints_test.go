package cli

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var (
	quotedCommand = regexp.MustCompile("`(southbound [a-z][^`]*)`")
	formatVerb    = regexp.MustCompile(`%[-+#0-9.]*[a-zA-Z]`)
	bareCommand   = regexp.MustCompile(`^southbound [a-z ]+$`)
)

// text returns the value of an expression of string literals. Other operands, and verbs of formats,
// become the placeholder 1, which is a name, a number and a path.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return strings.ReplaceAll(formatVerb.ReplaceAllString(s, "1"), "%%", "%")
		}
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	case *ast.ParenExpr:
		return text(e.X)
	}
	return "1"
}

// quotedCommands returns the commands of southbound in backquotes in the string literals of a file.
func quotedCommands(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(f, func(n ast.Node) bool {
		e, is := n.(ast.Expr)
		if !is {
			return true
		}
		switch e.(type) {
		case *ast.BinaryExpr, *ast.BasicLit:
			for _, m := range quotedCommand.FindAllStringSubmatch(text(e), -1) {
				all = append(all, m[1])
			}
			return false // its operands are parts of this text
		}
		return true
	})
	return all
}

// commandError reports why the program would refuse a command line that a message shows. A command without
// arguments and flags is a name, which has to exist.
func commandError(line string) error {
	line = strings.ReplaceAll(line, "status=1", "status=failed")
	for _, words := range simpleCommands(line) {
		err := accepted(words[1:])
		if errors.Is(err, pflag.ErrHelp) || bareCommand.MatchString(line) && isCommand(words[1:]) {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isCommand reports whether words are the name of a command.
func isCommand(words []string) bool {
	cmd, rest, err := root(testApp()).Find(words)
	return err == nil && len(rest) == 0 && cmd.HasParent()
}

// TestMessagesNameCommandsThatExist checks every command that a message or a hint shows in
// backquotes: the program accepts its flags and arguments.
func TestMessagesNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	n := 0
	for _, dir := range []string{"shared", "handlers", "functions", "cmd"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, line := range quotedCommands(t, path) {
				n++
				if err := commandError(line); err != nil {
					t.Errorf("%s: `%s`\n  %v", path, line, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 60 {
		t.Errorf("only %d commands were found in messages", n)
	}
}

// TestWrongHintIsFound holds that the check of messages can fail.
func TestWrongHintIsFound(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"southbound aply", "southbound deploy --again", "southbound deploy --timeout soon",
		"southbound service instance --daignose x", "southbound pause a b"} {
		if commandError(line) == nil {
			t.Errorf("%s is accepted", line)
		}
	}
}
