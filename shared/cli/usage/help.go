package usage

import (
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/cli/output"
	"southbound/shared/schema"
)

// more is the text of the program's help besides its commands.
const more = `Exit codes:
  0    done: everything is deployed, or there was nothing to do
  1    could not do it: usage, store, network
  2    bad input; nothing was stored
  3    done, but something failed, was skipped, blocked or is undefined
  4    the time given to wait ran out
  5    there are differences, and --exit-code asked for them
  130  interrupted; the state is kept

Environment variables:
  SOUTHBOUND_ENVIRONMENT, SOUTHBOUND_DATA, SOUTHBOUND_API
           as the flags, which come first; southbound.yaml comes last
  SOUTHBOUND_TOKEN
           the token of the HTTP API at SOUTHBOUND_API
  SOUTHBOUND_STATE_KEY
           secrets with the keys of kept states, such as file:/etc/state.key;
           the first one seals, all of them open
  SOUTHBOUND_PROGRAMS
           directory with builds of this program for other kinds of machines
  SOUTHBOUND_PYTHON
           virtual environment, or Python, that handlers of modules are run with
  SOUTHBOUND_GRACE
           time for running calls to finish after Ctrl-C or SIGTERM: 30s
  NO_COLOR
           no colours
`

// FitHelp fits the help of all commands into TextWidth columns: it wraps long texts and the
// descriptions of flags. Examples stay unchanged, since users copy them. A text is wrapped when it
// is shown: wrapping the texts of all commands would cost each run of the program a third of a
// millisecond.
func FitHelp(root *cobra.Command) {
	template := root.UsageTemplate()
	for _, flags := range []string{"LocalFlags", "InheritedFlags"} {
		template = strings.ReplaceAll(template, "."+flags+".FlagUsages",
			"."+flags+".FlagUsagesWrapped 80")
	}
	template = strings.ReplaceAll(template, " for more information about a command.",
		" describes a command.")
	root.SetUsageTemplate(template + "{{if not .HasParent}}\n" + more + "{{end}}")
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = paragraphs(cmd.Long)
		show(cmd, args)
	})
}

// paragraphs wraps each paragraph of a text; a paragraph that begins with a blank is left
// unchanged.
func paragraphs(text string) string {
	parts := strings.Split(text, "\n\n")
	for i, p := range parts {
		if !strings.HasPrefix(p, " ") {
			parts[i] = output.Wrapped(p, "")
		}
	}
	return strings.Join(parts, "\n\n")
}

// otherWords maps commands to the words that other programs use for them.
var otherWords = map[string][]string{
	"apply": {"up", "sync", "converge", "run-once"}, "discover": {"import", "scan"},
	"dryrun": {"dry-run", "noop", "check"}, "gc": {"prune", "clean"},
	"logs": {"log", "history", "events"}, "plan": {"preview"}, "resource": {"describe"},
	"resources": {"list", "ls"}, "status": {"ps", "health", "stats"}, "validate": {"lint", "test"},
}

// suggestion returns the command that the user most likely means by a word; "" if there is none.
func suggestion(cmd *cobra.Command, word string) string {
	for _, c := range cmd.Commands() {
		for _, other := range otherWords[c.Name()] {
			if !cmd.HasParent() && strings.EqualFold(other, word) {
				return c.Name()
			}
		}
	}
	similar := cmd.SuggestionsFor(word)
	if best := schema.Nearest(word, similar); best != "" || len(similar) == 0 {
		return best
	}
	return similar[0]
}
