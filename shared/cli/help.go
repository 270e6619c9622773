package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/schema"
)

// more is what the help of the program says besides its commands.
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
  SOUTHBOUND_PROGRAMS
           directory with builds of this program for other kinds of machines
  SOUTHBOUND_PYTHON
           virtual environment, or Python, that handlers of modules are run with
  SOUTHBOUND_GRACE
           time for running calls to finish after Ctrl-C or SIGTERM: 30s
  NO_COLOR
           no colours
`

// fitHelp lets the help of all commands fit into textWidth columns: long texts and the descriptions
// of flags are wrapped. Examples stay as they are, since they are there to be copied. A text is
// wrapped when it is shown: to wrap those of all commands would take each run of the program a
// third of a millisecond.
func fitHelp(root *cobra.Command) {
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

// paragraphs wraps each paragraph of a text; one that begins with a blank stays as it is.
func paragraphs(text string) string {
	parts := strings.Split(text, "\n\n")
	for i, p := range parts {
		if !strings.HasPrefix(p, " ") {
			parts[i] = wrapped(p, "")
		}
	}
	return strings.Join(parts, "\n\n")
}

// otherWords are words that people know from other programs, for commands that do what they look
// for.
var otherWords = map[string][]string{
	"apply": {"up", "sync", "converge", "run-once"}, "discover": {"import", "scan"},
	"dryrun": {"dry-run", "noop", "check"}, "gc": {"prune", "clean"},
	"logs": {"log", "history", "events"}, "plan": {"preview"}, "resource": {"describe"},
	"resources": {"list", "ls"}, "status": {"ps", "health"}, "validate": {"lint", "test"},
}

// suggestion returns the command that somebody most likely means by a word; "" for none.
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
