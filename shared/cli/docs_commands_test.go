package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var codeBlock = regexp.MustCompile("(?ms)^```([a-z]*)[^\n]*\n(.*?)^```")

// shellLines returns the commands of the shell blocks of a page: of sh all lines, of console those
// after a prompt. Lines that go on are one.
func shellLines(text string) []string {
	var out []string
	for _, m := range codeBlock.FindAllStringSubmatch(text, -1) {
		lines := strings.Split(strings.ReplaceAll(m[2], "\\\n", " "), "\n")
		for _, line := range lines {
			prompted, is := strings.CutPrefix(line, "$ ")
			switch {
			case m[1] == "sh" || m[1] == "bash":
				out = append(out, line)
			case m[1] == "console" && is:
				out = append(out, prompted)
			}
		}
	}
	return out
}

// simpleCommands divides a line of a shell into its commands, each of words without their quotes. It
// knows as much of the language as the pages use.
func simpleCommands(line string) [][]string {
	var all [][]string
	var words []string
	var word strings.Builder
	quote, began := rune(0), false
	end := func() {
		if began {
			words = append(words, word.String())
		}
		word.Reset()
		began = false
	}
	next := func() {
		end()
		if len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, began = r, true
		case r == ' ' || r == '\t':
			end()
		case r == '#' && !began:
			next()
			return all
		case strings.ContainsRune("|;&()", r):
			next()
		default:
			word.WriteRune(r)
			began = true
		}
	}
	next()
	return all
}

// withoutRedirections returns the words of a command before its first redirection.
func withoutRedirections(words []string) []string {
	if i := slices.IndexFunc(words, func(w string) bool {
		return strings.HasPrefix(w, ">") || strings.HasPrefix(w, "<") || w == "2>&1"
	}); i >= 0 {
		return words[:i]
	}
	return words
}

// packs are programs that the pages build: they have the commands of southbound.
var packs = []string{"southbound", "acme", "keys"}

// documented checks one command of a page: what it names exists.
func documented(words []string, targets map[string]bool) error {
	words = withoutRedirections(words)
	for len(words) > 0 && (words[0] == "export" || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	const repository = "../.."
	switch name := filepath.Base(words[0]); {
	case slices.Contains(packs, name):
		return accepted(words[1:])
	case name == "make":
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") && !targets[w] {
				return fmt.Errorf("the Makefile has no target %s", w)
			}
		}
	case strings.HasPrefix(words[0], "infra/"):
		_, err := os.Stat(filepath.Join(repository, words[0]))
		return err
	}
	for _, w := range words[1:] {
		path := strings.TrimSuffix(strings.TrimPrefix(w, "./"), "/...")
		if strings.HasPrefix(path, "examples/") {
			if _, err := os.Stat(filepath.Join(repository, path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// accepted reports why the program would refuse a command line.
func accepted(args []string) error {
	tree := root(testApp())
	tree.InitDefaultCompletionCmd()
	cmd, rest, err := tree.Find(args)
	if err != nil {
		return err
	}
	if cmd == tree {
		return fmt.Errorf("no command")
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err
	}
	return cmd.ValidateRequiredFlags()
}

var makeTarget = regexp.MustCompile(`(?m)^([a-z-]+):`)

// TestPagesShowCommandsThatExist checks every command in the shell blocks of the pages: the program
// accepts its flags and arguments, and make targets and files of the repository exist. Commands of
// AWS and of other programs are not run here.
func TestPagesShowCommandsThatExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	texts := pages(t)
	language, err := filepath.Glob("../../docs/language/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(language, "../../CONTRIBUTING.md") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(b)
	}
	n := 0
	for page, text := range texts {
		for _, line := range shellLines(text) {
			for _, words := range simpleCommands(line) {
				n++
				if err := documented(words, targets); err != nil {
					t.Errorf("%s: %s\n  %v", page, line, err)
				}
			}
		}
	}
	if n < 80 {
		t.Errorf("only %d commands were found in the pages", n)
	}
}

// TestWrongPageIsFound holds that the check of the pages can fail.
func TestWrongPageIsFound(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"southbound aply site", "southbound apply site --redd", "southbound status now",
		"true && southbound repir | cat", "make quickstrt",
		"southbound apply", "./inventory.py | southbound aply -", "bin/southbound plan examples/gone --full x",
		"infra/ci/gone.sh plan site", "go build -o bin/acme ./examples/gone", "southbound logs --limit x # why",
	} {
		ok := true
		for _, m := range shellLines("```sh\n" + line + "\n```\n") {
			for _, words := range simpleCommands(m) {
				ok = ok && documented(words, map[string]bool{"quickstart": true}) == nil
			}
		}
		if ok {
			t.Errorf("%s is accepted", line)
		}
	}
}
