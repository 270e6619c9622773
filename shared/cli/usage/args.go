// Package usage defines what commands accept: arguments, flags and filters. It returns the errors
// for wrong use, and formats the help.
package usage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"southbound/shared/cli/output"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/schema"
)

// VersionNumber parses the number of a version.
func VersionNumber(cmd, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fault.New(fault.Usage, cmd, "%q is not the number of a version", text).
			WithHint("`southbound versions` lists them")
	}
	return n, nil
}

// Help is the run function of commands that only have subcommands: it shows the subcommands.
func Help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// Subcommand rejects an argument that is not a subcommand.
func Subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := fault.New(fault.Usage, "", "%q is not a command of %s", args[0], cmd.CommandPath()).
		WithHint("`%s --help` lists them", cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if similar := suggestion(cmd, args[0]); similar != "" {
		e = e.WithHint("did you mean `%s %s`?", cmd.CommandPath(), similar)
	}
	return e
}

// Filled is the value of a flag that must not be empty. An empty value, such as that of an unset
// variable of a shell, would otherwise select another environment or another home.
type Filled string

// String implements pflag.Value.
func (v *Filled) String() string { return string(*v) }

// Type implements pflag.Value.
func (*Filled) Type() string { return "string" }

// Set implements pflag.Value.
func (v *Filled) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	*v = Filled(text)
	return nil
}

// FlagError converts an error about a flag into one of ours.
func FlagError(cmd *cobra.Command, err error) error {
	hint, text := "", err.Error()
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if similar := schema.Nearest(unknown.GetSpecifiedName(), names); similar != "" {
			hint = "did you mean --" + similar + "?"
		}
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration":
		hint = "write a number with its unit, such as 30s or 5m"
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "int":
		text = fmt.Sprintf("--%s: %q is not a whole number", invalid.GetFlag().Name,
			invalid.GetValue())
	case errors.As(err, &invalid) && invalid.GetValue() == "":
		text, hint = fmt.Sprintf("--%s has no value", invalid.GetFlag().Name),
			"write one, or leave the flag out"
	}
	e := fault.New(fault.Usage, words(cmd), "%s", text).WithHint("`%s --help` lists the flags",
		cmd.CommandPath())
	if hint != "" {
		e = e.WithHint("%s", hint)
	}
	return e
}

// words returns the words of a command without the name of the program.
func words(cmd *cobra.Command) string {
	_, rest, _ := strings.Cut(cmd.CommandPath(), " ")
	return rest
}

// ExactArgs is cobra.ExactArgs with one of our errors.
func ExactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fault.New(fault.Usage, words(cmd), "expected %s, got %s", what,
				output.Plural(len(args), "argument")).WithHint("see `%s --help`", cmd.CommandPath())
		}
		return nil
	}
}

// AtLeastOne is cobra.MinimumNArgs(1) with one of our errors.
func AtLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fault.New(fault.Usage, words(cmd), "expected %s, got nothing", what).
				WithHint("see `%s --help`", cmd.CommandPath())
		}
		return nil
	}
}

// AtMostOne is cobra.MaximumNArgs(1) with one of our errors.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fault.New(fault.Usage, words(cmd), "expected at most %s, got %s", what,
				output.Plural(len(args), "argument")).WithHint("see `%s --help`", cmd.CommandPath())
		}
		return nil
	}
}

// NotNegative rejects a negative duration, which would otherwise mean no limit.
func NotNegative(op, flag string, d time.Duration) error {
	if d < 0 {
		return fault.New(fault.Usage, op, "--%s is negative", flag).
			WithHint("write a number with its unit, such as 30s or 5m")
	}
	return nil
}

// After makes the run function of a command without a path: it opens the home, by app.open or
// app.OpenToRead, and then runs.
func After(
	open func(ctx context.Context, path string) error, run func(ctx context.Context, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := open(cmd.Context(), ""); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// FilterHelp explains filters.
const FilterHelp = "FILTER: type=, agent=, status=, set=, compliance=, last_run=, blocked=, " +
	"reason~=TEXT, id~=TEXT, and an id or a glob of an id. A resource must match all terms; of a " +
	"repeated agent=, status=, compliance=, last_run= or blocked=, any value."

// PathAndFilter requires a path and accepts the terms of a filter.
func PathAndFilter(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return ExactArgs(1, "one path")(cmd, args)
	}
	for _, term := range args[1:] {
		if !strings.ContainsAny(term, FilterSigns) {
			return fault.New(fault.Usage, words(cmd),
				"expected one path, got %s, and %q is not a filter", output.Plural(len(args), "argument"),
				term).
				WithHint("%s", FilterHelp)
		}
	}
	_, err := state.ParseFilter(args[1:])
	return err
}

// FilterSigns are the operators; every term of a filter contains one.
const FilterSigns = "=[*?"
