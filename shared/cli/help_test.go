package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"southbound/handlers"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/parts"
)

// TestHelpFits wants the help of every command to fit into a terminal of 80 columns, but for
// examples, which are copied.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	var visit func(words []string, cmd *cobra.Command)
	visit = func(words []string, cmd *cobra.Command) {
		var out, err bytes.Buffer
		args := append(words[1:len(words):len(words)], "--help")
		if code := Main(handlers.All(), args, strings.NewReader(""), &out, &err); code != 0 {
			t.Errorf("%v: exit code %d: %s", words, code, err.String())
		}
		for line := range strings.Lines(out.String()) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > output.TextWidth &&
				!strings.Contains(cmd.Example, strings.TrimSpace(line)) {
				t.Errorf("%v: %d characters: %s", words, len(line), line)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			// what stands in backquotes is taken for the name of the value
			if name, _ := pflag.UnquoteUsage(f); strings.Contains(name, " ") {
				t.Errorf("%v: the value of --%s is called %q", words, f.Name, name)
			}
		})
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				visit(append(words[:len(words):len(words)], c.Name()), c)
			}
		}
	}
	tree := root(testApp())
	visit([]string{tree.Name()}, tree)
}

// vague matches words for which the help uses the noun or verb of the field.
var vague = regexp.MustCompile(`(?i)\b(what|says?|said|tells?|told|(some|no)body|whoever|anew|` +
	`once more|by itself|by themselves|meanwhile|seldom|any more|have to|goes on)\b`)

// TestHelpWords wants plain words in the help of every command, and a short description of at most
// eight words.
func TestHelpWords(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if n := len(strings.Fields(cmd.Short)); n > 8 && !cmd.Hidden {
			t.Errorf("%s: %d words: %s", cmd.CommandPath(), n, cmd.Short)
		}
		texts := []string{cmd.Short, cmd.Long}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { texts = append(texts, f.Usage) })
		for _, text := range texts {
			for _, word := range vague.FindAllString(text, -1) {
				t.Errorf("%s: %q in %q", cmd.CommandPath(), word, text)
			}
		}
		for _, c := range cmd.Commands() {
			check(c)
		}
	}
	check(root(testApp()))
}

// testApp returns a program that has opened nothing.
func testApp() *parts.Parts { return parts.New(&output.Console{}, &home.Location{}, &home.Program{}) }
