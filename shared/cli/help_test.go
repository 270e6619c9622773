package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"southbound/handlers"
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
			if len([]rune(strings.TrimSuffix(line, "\n"))) > textWidth &&
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
	root := testApp().root()
	visit([]string{root.Name()}, root)
}
