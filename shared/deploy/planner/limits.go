package planner

import (
	"context"
	"fmt"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// guard refuses a plan that differs from the expected one, or that removes more resources than the
// limits permit; fresh means that the version is new. If the expected plan was already carried out,
// the response was lost, and the plan is not compared again.
func (p *forecast) guard(ctx context.Context, x Export, fresh bool) error {
	if again := x.Expect == p.plan.was.Applied && !fresh; x.Expect != "" && !again {
		s, err := p.steps(ctx)
		if err != nil {
			return err
		}
		if s.digest(p.plan) != x.Expect {
			return fault.New(fault.Refused, "", "the state is not what the plan was made from; "+
				"nothing was done").WithHint("make the plan again")
		}
	}
	if x.Limits == nil {
		return nil
	}
	var deleted, leaving []resource.ID
	for _, id := range p.plan.order {
		stored, now := p.plan.before[id], p.plan.rows[id]
		stored.ID = id
		was := *p.managedAs(&stored)
		w, shown, err := p.step(&was, now)
		switch {
		case err != nil:
			return err
		case !shown, was.Removing && now.Removing:
			continue
		}
		if w.Action == "delete" || w.Replace || w.Deletes {
			deleted = append(deleted, id)
		}
		if now.Removing || now.Orphaned {
			leaving = append(leaving, id)
		}
	}
	if n := x.Limits.Delete; n >= 0 && len(deleted) > n {
		if x.Limits.Unstated {
			return Emptied(deleted)
		}
		return tooMany(deleted, "would be deleted", n, "--allow-delete permits")
	}
	if n := x.Limits.Leave; n >= 0 && len(leaving) > n {
		return tooMany(leaving, "would leave the model", n, "the export permits")
	}
	return nil
}

// tooMany returns the error that refuses an export for the effect on ids.
func tooMany(ids []resource.ID, what string, limit int, permits string) error {
	return &fault.Error{Kind: fault.Refused, Err: each(ids, what),
		Message: fmt.Sprintf("%s %s; %s %d; nothing was done", counted(ids), what, permits,
			limit)}
}

// Emptied returns the error that refuses an export that describes no resource
// and would delete ids.
func Emptied(ids []resource.ID) error {
	const what = "would be deleted"
	return &fault.Error{Kind: fault.Refused, Err: each(ids, what),
		Message: fmt.Sprintf("the export describes no resource, and %s %s; nothing was done",
			counted(ids), what),
		Hint: fmt.Sprintf("add --allow-delete %[1]d to delete them, or \"limits\": {\"delete\": %[1]d} to "+
			"the request", len(ids))}
}

// each returns a problem for each of ids.
func each(ids []resource.ID, what string) error {
	var problems diag.Problems
	slices.Sort(ids)
	for _, id := range ids {
		problems.Add(diag.Problem{Resource: string(id), Message: what})
	}
	return problems.Err()
}

// counted returns the number of ids with its noun.
func counted(ids []resource.ID) string {
	if len(ids) == 1 {
		return "1 resource"
	}
	return fmt.Sprintf("%d resources", len(ids))
}
