package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"southbound/handlers"
	"southbound/shared/internal/source"
)

// pages are the documents for users.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"../../README.md", "../../docs/*.md",
		"../../examples/README.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out[f] = string(b)
		}
	}
	if len(out) < 5 {
		t.Fatalf("only %d pages", len(out))
	}
	return out
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestPagesShowWhatIsRight validates every document that the pages show.
func TestPagesShowWhatIsRight(t *testing.T) {
	t.Parallel()
	n := 0
	for page, text := range pages(t) {
		for _, m := range yamlBlock.FindAllStringSubmatch(text, -1) {
			n++
			dir := t.TempDir()
			name := "site.yaml"
			if !strings.HasPrefix(m[1], "southbound: 1") {
				name = "southbound.yaml"
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if name == "southbound.yaml" {
				if _, err := source.FindProject(dir); err != nil {
					t.Errorf("%s: %v", page, err)
				}
				continue
			}
			describeAgents(t, dir, m[1])
			var errors strings.Builder
			args := []string{"validate", dir}
			if code := Main(handlers.All(), args, strings.NewReader(""), io.Discard,
				&errors); code != 0 {
				t.Errorf("%s: exit code %d\n%s", page, code, errors.String())
			}
		}
	}
	if n < 4 {
		t.Errorf("only %d documents were found in the pages", n)
	}
}

// describeAgents writes a document beside one that names several agents and describes none, as pages
// do that describe them elsewhere: each is a machine of its own.
func describeAgents(t *testing.T, dir, text string) {
	t.Helper()
	type place struct {
		Agent  string
		Agents []string
	}
	var doc struct {
		Agents    map[string]any
		Defaults  place
		Resources []place
	}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Agents) > 0 {
		return // what is wrong with it, validate tells
	}
	hosts := map[string]any{}
	for _, p := range append(doc.Resources, doc.Defaults) {
		for _, name := range append(p.Agents, p.Agent) {
			if name != "" {
				hosts[name] = map[string]any{"transport": "ssh", "host": name + ".example.com"}
			}
		}
	}
	if len(hosts) < 2 {
		return
	}
	b, err := yaml.Marshal(map[string]any{"southbound": 1, "agents": hosts})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hosts.yaml"), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

var commandText = regexp.MustCompile("southbound ([a-z]+[^`\n|#\"]*)")

// TestPagesNameWhatIsThere looks up every command and flag that the pages name.
func TestPagesNameWhatIsThere(t *testing.T) {
	t.Parallel()
	tree := root(testApp())
	tree.InitDefaultCompletionCmd()
	n := 0
	for page, text := range pages(t) {
		text = strings.ReplaceAll(text, "bin/southbound", "southbound")
		for _, line := range strings.Split(text, "\n") {
			if !strings.Contains(line, "`southbound") && !strings.HasPrefix(line, "southbound ") {
				continue
			}
			for _, m := range commandText.FindAllStringSubmatch(line, -1) {
				words := strings.Fields(m[1])
				cmd, _, err := tree.Find(words)
				if err != nil || cmd == tree {
					t.Errorf("%s: no command %q", page, m[0])
					continue
				}
				n++
				for _, w := range words {
					if name, is := strings.CutPrefix(w, "--"); is &&
						cmd.Flags().Lookup(name) == nil &&
						cmd.InheritedFlags().Lookup(name) == nil && name != "help" {
						t.Errorf("%s: %s has no flag --%s", page, cmd.CommandPath(), name)
					}
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d commands were found in the pages", n)
	}
}

// TestHelpHasExamples wants an example that is right for every command.
func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			check(c)
		}
		if cmd.Name() == "help" || cmd.Name() == "completion" ||
			cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
			return
		}
		if cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, line := range strings.Split(cmd.Example, "\n") {
			_, words, ok := strings.Cut(line, "southbound ")
			if !ok {
				t.Errorf("%s: the example %q", cmd.CommandPath(), line)
				continue
			}
			if found, _, err := cmd.Root().Find(strings.Fields(words)); err != nil ||
				found != cmd && cmd.HasParent() && !cmd.HasSubCommands() {
				t.Errorf("%s: the example %q is one of %v", cmd.CommandPath(), line, found)
			}
		}
	}
	tree := root(testApp())
	tree.InitDefaultCompletionCmd()
	check(tree)
}
