package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/deploy/run"
	"southbound/shared/diff"
	"southbound/shared/diffview"
	"southbound/shared/fault"
)

// actionPrinter shows single actions.
type actionPrinter struct {
	*console
	*location
	*session
}

// whole completes the desired values of an action whose record holds only their beginning, if full
// values are to be shown. whole reads them from the version that the action deployed, which holds
// references in place of secrets.
func (p *actionPrinter) whole(ctx context.Context, x *api.Action) error {
	cut := func(d diff.Diff) bool { _, _, is := run.Cut(d.Desired); return is }
	if !p.full || !slices.ContainsFunc(slices.Collect(maps.Values(x.Changes)), cut) {
		return nil
	}
	var wanted map[string]any
	err := p.home.Descriptions(ctx, p.env, x.Version, x.Resource, func(d *api.Description) error {
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
func (p *actionPrinter) notKept(changes map[string]diff.Diff) {
	if !p.full {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		d := changes[name]
		if n := run.CutLines(d.Unified); n > 0 {
			p.printf("    %s: %s of the difference were not recorded\n", name, plural(n, "line"))
		}
		if d.Unified != "" {
			continue
		}
		for _, side := range []struct {
			value any
			what  string
		}{{d.Current, "what was there"}, {d.Desired, "what was wanted"}} {
			if kept, size, cut := run.Cut(side.value); cut {
				p.printf("    %s: %s\n", name, keptOnly(kept, size, side.what))
			}
		}
	}
}

// keptOnly describes how much of a value was recorded.
func keptOnly(kept string, size int, what string) string {
	return fmt.Sprintf("of %s only the first %d of %d bytes were recorded", what, len(kept), size)
}
