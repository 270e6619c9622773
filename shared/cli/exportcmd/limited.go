package exportcmd

import (
	"context"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/deploy"
	"southbound/shared/fault"
)

// limited exports a model, unless the export would delete more resources than the limit allows. At
// a terminal, limited asks the user to confirm these deletions and the resources that would be left
// behind. Elsewhere, the documents are taken as the confirmation.
func (e *Exporter) limited(
	ctx context.Context, x deploy.Export, f exportFlags, sent func(api.Sent),
) (deploy.Exported, error) {
	if f.allowDelete >= 0 {
		x.Limits = &deploy.Limits{Delete: f.allowDelete, Leave: -1}
	}
	if _, interactive := output.Terminal(e.Stdin); x.NoRelease || f.yes || !f.asks || !interactive {
		return e.Home.Export(ctx, e.Env, x, sent)
	}
	bound := x.Limits
	x.Limits = &deploy.Limits{} // the user confirms every resource that leaves the model
	out, err := e.Home.Export(ctx, e.Env, x, sent)
	for fault.Is(err, fault.Refused) {
		if x.Expect != "" {
			e.Complain("the state has changed in between")
		}
		var d deploy.DryRun
		x.Expect, x.Limits = "", bound
		if d, err = e.Home.Plan(ctx, e.Env, x, deploy.CompareOptions{}); err != nil {
			return out, err
		}
		gone := output.Deleted(d.Planned)
		if bound == nil || len(gone) <= bound.Delete {
			if err := e.Confirm(ctx, gone, output.Left(d.Planned), 0); err != nil {
				return out, err
			}
			x.Expect = d.State
		}
		if out, err = e.Home.Export(ctx, e.Env, x, sent); x.Expect == "" {
			break
		}
	}
	return out, err
}

// leftBehind reports the resources that an export has left behind: the documents may be only a part
// of those that were exported before.
func (e *Exporter) leftBehind(out deploy.Exported) {
	if out.LeftBehind == 0 {
		return
	}
	e.Say("%s: %s", output.LeftText(out.LeftBehind),
		output.MoreIDs(out.FirstLeft[:min(len(out.FirstLeft), maxTold)], out.LeftBehind))
	e.Say("  `southbound resources status=orphaned` lists them, `southbound forget status=orphaned` " +
		"forgets them; --partial keeps resources that the documents lack")
}

// maxTold is how many resources a message names.
const maxTold = 3
