package cli

import (
	"context"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/fault"
)

// limited exports a model, unless the export would delete more resources than the limit allows. At
// a terminal, limited asks the user to confirm these deletions and the resources that would be left
// behind. Elsewhere, the documents are taken as the confirmation.
func (e *exporter) limited(
	ctx context.Context, x deploy.Export, f exportFlags, sent func(api.Sent),
) (deploy.Exported, error) {
	if f.allowDelete >= 0 {
		x.Limits = &deploy.Limits{Delete: f.allowDelete, Leave: -1}
	}
	if _, sits := terminal(e.stdin); x.NoRelease || f.yes || !f.asks || !sits {
		x.LetGo = true
		return e.home.Export(ctx, e.env, x, sent)
	}
	bound := x.Limits
	x.Limits = &deploy.Limits{} // the user confirms every resource that leaves the model
	out, err := e.home.Export(ctx, e.env, x, sent)
	for fault.Is(err, fault.Refused) {
		if x.Expect != "" {
			e.complain("the state has changed in between")
		}
		var d deploy.DryRun
		x.Expect, x.Limits = "", bound
		if d, err = e.home.Plan(ctx, e.env, x, deploy.CompareOptions{}); err != nil {
			return out, err
		}
		gone := deleted(d.Planned)
		if bound == nil || len(gone) <= bound.Delete {
			if err := e.confirm(ctx, gone, left(d.Planned), 0); err != nil {
				return out, err
			}
			x.Expect = d.State
		}
		if out, err = e.home.Export(ctx, e.env, x, sent); x.Expect == "" {
			break
		}
	}
	return out, err
}

// leftBehind reports the resources that an export has left behind: the documents may be only a part
// of those that were exported before.
func (e *exporter) leftBehind(out deploy.Exported) {
	if out.LeftBehind == 0 {
		return
	}
	e.say("%s: %s", leftText(out.LeftBehind),
		moreIDs(out.FirstLeft[:min(len(out.FirstLeft), maxTold)], out.LeftBehind))
	e.say("  `southbound resources status=orphaned` lists them, `southbound forget status=orphaned` " +
		"forgets them; --partial keeps what is not in the documents")
}

// maxTold is how many resources a message names.
const maxTold = 3
