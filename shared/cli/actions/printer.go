// Package actions prints recorded actions.
package actions

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/deploy/run"
	"southbound/shared/diff"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	render "southbound/shared/internal/report"
	"southbound/shared/resource"
)

// Printer shows single actions.
type Printer struct {
	*output.Console
	*home.Location
	*home.Session
}

// Whole completes the desired values of an action whose record holds only their beginning, if full
// values are to be shown. Whole reads them from the version that the action deployed, which holds
// references in place of secrets.
func (p *Printer) Whole(ctx context.Context, x *api.Action) error {
	cut := func(d diff.Diff) bool { _, _, is := run.Cut(d.Desired); return is }
	if !p.Full || !slices.ContainsFunc(slices.Collect(maps.Values(x.Changes)), cut) {
		return nil
	}
	var wanted map[string]any
	err := p.Home.Descriptions(ctx, p.Env, x.Version, x.Resource, func(d *api.Description) error {
		wanted = d.Attributes
		return nil
	})
	if err != nil && !fault.Is(err, fault.NotFound) { // the version may have been removed
		return err
	}
	changes := maps.Clone(x.Changes)
	for name, d := range changes {
		changes[name] = completed(d, wanted[name])
	}
	x.Changes = changes
	return nil
}

// completed returns a difference with the full desired value, if the recorded value is its
// beginning. The recorded value is not its beginning if secrets were removed, or if the handler
// uses another form.
func completed(d diff.Diff, wanted any) diff.Diff {
	kept, size, cut := run.Cut(d.Desired)
	if written, is := wanted.(map[string]any); is && len(written) == 1 && written["value"] != nil {
		wanted = written["value"]
	}
	text, is := wanted.(string)
	if !is {
		b, err := json.Marshal(wanted)
		if err != nil {
			return d
		}
		text = string(b)
	}
	if !cut || len(text) != size || !strings.HasPrefix(text, kept) {
		return d
	}
	d.Desired = wanted
	if _, _, cut := run.Cut(d.Current); !cut && run.CutLines(d.Unified) > 0 {
		d.Unified = diffview.Of(d.Current, d.Desired)
	}
	return d
}

// notKept reports the values of which only a part was recorded, if full values are to be shown.
func (p *Printer) notKept(changes map[string]diff.Diff) {
	if !p.Full {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		d := changes[name]
		if n := run.CutLines(d.Unified); n > 0 {
			p.Printf("    %s: %s of the difference were not recorded\n", name, output.Plural(n, "line"))
		}
		if d.Unified != "" {
			continue
		}
		for _, side := range []struct {
			value any
			what  string
		}{{d.Current, "the old value"}, {d.Desired, "the new value"}} {
			if kept, size, cut := run.Cut(side.value); cut {
				p.Printf("    %s: %s\n", name, KeptOnly(kept, size, side.what))
			}
		}
	}
}

// KeptOnly describes how much of a value was recorded.
func KeptOnly(kept string, size int, what string) string {
	return fmt.Sprintf("of %s only the first %d of %d bytes were recorded", what, len(kept), size)
}

// All shows actions, with equal actions of several agents once, at the time of the first.
func (p *Printer) All(actions []api.Action) {
	id := func(i int) resource.ID { return actions[i].Resource }
	for _, g := range output.Folded(p.Console, actions, output.ActionKey) {
		p.Action(&actions[g[0]], render.Same(output.AgentsOfFold(g, id)))
	}
}

// Action shows an action. same names the agents with an equal action.
func (p *Printer) Action(x *api.Action, same string) {
	p.Printf("%s  %-7s %-13s %-8s %s%s\n", x.Finished.UTC().Format("2006-01-02T15:04:05.000Z"),
		x.Action, x.Outcome,
		output.ChangeWord(x.Change, x.Replaced), x.Resource, output.OneLine(same))
	if x.Provider != "" {
		p.Printf("    provider %s: %s\n", x.Provider, x.Why)
	}
	if x.Reason != "" {
		p.Printf("    %s\n", Indented(x.Reason, "    "))
	}
	p.Diff(x.Changes)
	p.notKept(x.Changes)
	for _, l := range x.Messages {
		p.message(&l)
	}
}

// message writes a line of a handler. A text of several lines, such as the output of a command,
// follows below that line unchanged.
func (p *Printer) message(l *api.Message) {
	p.Printf("    %-7s %s", l.Level, l.Msg)
	var long []string
	for _, k := range slices.Sorted(maps.Keys(l.Kwargs)) {
		if text, is := l.Kwargs[k].(string); is &&
			(strings.Contains(text, "\n") || len(text) > longValue) {
			long = append(long, text)
			continue
		}
		p.Printf(" %s=%s", k, p.Style("").Value(l.Kwargs[k]))
	}
	p.Printf("\n")
	for _, text := range long {
		p.Printf("      %s\n", Indented(text, "      "))
	}
}

// longValue is the length from which a text is written on lines of its own.
const longValue = 60

// Indented returns a text with everything after its first line indented.
func Indented(text, by string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by)
}
