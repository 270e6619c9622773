package deploy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/plan"
	"southbound/shared/resource"
)

// Look says how closely a preview looks.
type Look struct {
	// Read compares with reality too, which tells what has drifted.
	Read bool
	// Whole keeps values as long as they are.
	Whole bool
	// From is how it goes on with reading.
	From Reading
}

// Preview says all that an apply of a model would do, and, with look.Read, what of reality it
// would set right. It makes the plan that an export makes and stores nothing of it; see
// docs/design/preview.md.
func (e *Engine) Preview(ctx context.Context, env string, x Export, look Look) (DryRun, error) {
	if problems := e.validateExport(x); len(problems) > 0 {
		return DryRun{}, problems.Err()
	}
	stored, err := e.State.Env(ctx, env)
	if err != nil {
		return DryRun{}, fault.Wrap(fault.Unknown, "read environment", err)
	}
	// Tickets that nobody sees only have to differ from 0.
	p := &planner{e: e, env: stored, was: stored, lease: state.Lease{Key: state.PlanKey, Fence: 1}, dry: true}
	p.reset()
	if problems := x.Model.UnsetSecrets(e.lookUp(ctx)); len(problems) > 0 {
		return DryRun{}, problems.Err()
	}
	p.mending = !e.intact(ctx, stored)
	next, err := p.next(ctx, x)
	if err != nil {
		return DryRun{}, err
	}
	p.look, p.texts = look, run.FewTexts(run.TextsOf(ctx, run.FilesOf(e.Files, x.Model.Files)))
	if stored.Releasing == 0 {
		_, err = p.release(ctx, next.version, next.entries)
	} else {
		_, err = p.releaseWhole(ctx, next.version, next.entries)
	}
	if err != nil {
		return DryRun{}, err
	}
	s, err := p.steps(ctx)
	if err != nil {
		return DryRun{}, err
	}
	out := DryRun{State: s.digest(p), Would: s.would}
	if !look.Read {
		return out, nil
	}
	d := &dryRunner{e: e, runs: e.runner(), env: env, agents: next.version.Agents, files: x.Model.Files,
		whole: look.Whole, from: look.From, strict: p.env.Settings.Strict}
	if look.From.State != out.State {
		d.from.Known = nil // of another plan
	}
	d.out.State = out.State
	err = d.read(ctx, p, s)
	return d.out, err
}

// steps is what would become of every resource by what a planner has planned.
type steps struct {
	would []Would
	rows  map[resource.ID]*state.Row // those that a worker would look at
	marks []string                   // what the state is in which that is so
}

// steps says what would become of every resource, in order of id, what leaves last.
func (p *planner) steps(ctx context.Context) (*steps, error) {
	s := &steps{rows: map[resource.ID]*state.Row{}}
	var leaving []Would
	add := func(was, now *state.Row) error {
		w, told, err := p.step(was, now)
		if err != nil || !told || !p.targets.shows(now.ID, now.Ticket != 0 && p.rows[now.ID] != nil || now.Unfinished()) {
			return err
		}
		if w.Action != "orphan" {
			s.rows[now.ID] = now
		}
		if w.Action != "none" || w.Failed {
			mark := []string{string(now.ID), w.Action, was.Hash, was.Deployed, string(was.Compliance), now.Hash}
			s.marks = append(s.marks, strings.Join(mark, "\n"))
		}
		if now.Orphaned || now.Removing {
			leaving = append(leaving, w)
		} else {
			s.would = append(s.would, w)
		}
		return nil
	}
	stored := map[resource.ID]bool{}
	err := p.e.client().EachRow(ctx, p.env.Name, func(r *state.Row) error {
		row := *r
		stored[row.ID] = true
		if now := p.rows[row.ID]; now != nil {
			return add(&row, now)
		}
		return add(&row, &row)
	})
	if err != nil {
		return nil, err
	}
	for id, now := range p.rows {
		if stored[id] {
			continue
		}
		if err := add(&state.Row{ID: id}, now); err != nil {
			return nil, err
		}
	}
	for _, list := range [][]Would{s.would, leaving} {
		slices.SortFunc(list, func(a, b Would) int { return cmp.Compare(a.ID, b.ID) })
	}
	s.would = append(s.would, leaving...)
	return s, nil
}

// digest identifies a plan and the state that it was made from.
func (s *steps) digest(p *planner) string {
	slices.Sort(s.marks)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d %d %d\n%s", p.e.Pack, p.was.Last, p.was.Released,
		p.was.Releasing, strings.Join(s.marks, "\x00")))
	return hex.EncodeToString(sum[:])
}

// step says what would become of a resource, given its row before and after what is planned. told
// is false when there is nothing to say: it left earlier.
func (p *planner) step(was, now *state.Row) (w Would, told bool, err error) {
	w = Would{ID: now.ID, Action: "none"}
	switch {
	case now.Orphaned:
		w.Action = "orphan"
		return w, !was.Orphaned, nil
	case now.Compliance == state.Undefined, now.Blocked == state.BlockedYes:
		err = p.later(&w, was, now)
	case now.Removing && now.Ticket == 0 && now.Blocked != state.BlockedTemp && !p.retry:
		// A check of everything leaves it out.
		w.Action, w.Failed, w.Reason = "delete", true, "waits to be tried again: "+now.Reason
	case now.Removing:
		w.Action = "delete"
	case now.Blocked == state.NeedsPerson:
		err = p.undecided(&w, was, now)
	case now.AsWanted():
	default:
		err = p.change(&w, was, now)
	}
	return w, true, err
}

// later says what would become of a row of which something is not known. What is to be gone is deleted
// when that becomes known, and nobody is asked then.
func (p *planner) later(w *Would, was, now *state.Row) error {
	w.Action, w.Reason, w.Deletes = "undefined", now.Reason, now.Removing
	if now.Removing {
		return nil
	}
	then := Would{ID: now.ID}
	err := p.change(&then, was, now)
	w.Deletes = !then.Failed && (then.Action == "delete" || then.Replace)
	return err
}

// undecided says what would become of a row that waits for somebody's decision, since a create may have
// led to something: if that is to be gone, it is looked for, and deleted if it is there.
func (p *planner) undecided(w *Would, was, now *state.Row) error {
	w.Failed, w.Reason = true, now.Reason
	if now.Ticket == 0 || now.Hash == was.Hash {
		return nil
	}
	then := Would{ID: now.ID}
	err := p.change(&then, was, now)
	w.Deletes = then.Action == "delete"
	return err
}

// change says what a deploy of a row that is not as wanted would do, as far as that can be told
// without looking.
func (p *planner) change(w *Would, was, now *state.Row) error {
	res, err := resource.Decode(now.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read resource", err)
	}
	base, err := deployedAs(was)
	if err != nil {
		return err
	}
	there := base != nil && !base.Purged
	switch {
	case res.ReportOnly:
		w.Reason = reportOnly
	case res.Purged && base != nil && base.Purged && was.AsWanted():
	case res.Purged:
		w.Action = "delete"
	case there && was.Deployed == now.Hash && was.AsWanted():
		// It left, was let alone, and comes back.
	case there:
		w.Action, w.Changes = "update", p.e.intentDiff(base, res, p.look, p.texts)
		p.e.wouldReplace(w, res)
	default:
		w.Action, w.Changes = "create", p.e.intentDiff(nil, res, p.look, p.texts)
	}
	if was.Hash == now.Hash && w.Reason == "" {
		w.Reason = now.Reason // why it is still to be done
	}
	return nil
}

// wouldReplace completes what is said of an update between two intents.
func (e *Engine) wouldReplace(w *Would, now *resource.Resource) {
	typ, ok := e.checker().Type(now)
	if !ok {
		return
	}
	var names []string
	for _, name := range plan.Replacing(typ, w.Changes) {
		if w.Changes[name].Desired != nil { // what is not said any more is left as it is
			names = append(names, name)
		}
	}
	w.Replace = len(names) > 0
	if w.Replace && now.PreventDestroy && !now.ReportOnly {
		w.Failed, w.Reason = true, run.PreservedText(names)
	}
}

const reportOnly = "is only compared, since it is report_only"

// deployedAs returns what a resource was deployed as, as far as that is known: its last intent, if
// any was deployed. It returns nil when nothing was, or when it was removed.
func deployedAs(row *state.Row) (*resource.Resource, error) {
	if row.Deployed == "" || row.Removing {
		return nil, nil
	}
	res, err := resource.Decode(row.Body)
	return res, fault.Wrap(fault.Damaged, "read resource", err)
}

// read compares what would be in force with reality, and adds what leaves.
func (d *dryRunner) read(ctx context.Context, p *planner, s *steps) error {
	agents, err := p.e.State.Agents(ctx, d.env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read agents", err)
	}
	known := lanesOf(d.agents)
	for name, a := range agents { // of what leaves
		if known[name] == 0 {
			d.agents = append(d.agents, a.Agent)
		}
	}
	g := p.graph
	if g == nil {
		if g, err = p.inForce(ctx); err != nil {
			return err
		}
	}
	planned := make(map[resource.ID]*Would, len(s.would))
	rows := make(map[resource.ID]*state.Row, len(s.rows))
	blocked := map[resource.ID]bool{}
	for i := range s.would {
		w := &s.would[i]
		planned[w.ID] = w
		if now := s.rows[w.ID]; now != nil {
			rows[w.ID] = &state.Row{ID: w.ID, Lane: now.Lane, Version: now.Version, Hash: now.Hash,
				Body: now.Body}
			// Before another thing makes room, that is what a handler would find.
			blocked[w.ID] = w.Action == "undefined" || w.Failed || s.getsRoom(g, w.ID)
		}
	}
	err = d.compare(ctx, g, rows, blocked, func(id resource.ID) Would { return *planned[id] })
	if err != nil || len(d.out.Left) > 0 {
		return err
	}
	d.skip(g)
	for i := range s.would {
		if s.would[i].Action == "orphan" {
			d.out.Would = append(d.out.Would, s.would[i])
		}
	}
	return nil
}

// getsRoom reports whether something that leaves has to be gone before a resource can be as wanted.
func (s *steps) getsRoom(g *version.Graph, id resource.ID) bool {
	n := g.Node(id)
	return n >= 0 && !g.Removing[n] && slices.ContainsFunc(g.Requires(n), func(q int32) bool {
		return g.Removing[q] && s.rows[g.IDs[q]] != nil
	})
}

// skip notes of what requires something that would not be as wanted that it would be skipped. What
// was found is in the order in which it would run.
func (d *dryRunner) skip(g *version.Graph) {
	lacks := map[resource.ID]bool{}
	for i := range d.out.Would {
		w := &d.out.Would[i]
		n := g.Node(w.ID)
		if w.Action == "undefined" || n < 0 {
			continue
		}
		for _, q := range g.Requires(n) {
			if id := g.IDs[q]; lacks[id] && !w.Failed {
				w.Failed, w.Reason = true, "would be skipped, since it requires "+string(id)
			}
		}
		lacks[w.ID] = w.Failed || w.Reason == reportOnly
	}
}

// Limits bounds what may leave by an export. A negative number bounds nothing.
type Limits struct {
	Delete int // how many resources it may delete
	Leave  int // how many it may leave behind, or delete since they left the model
}

// guard refuses what is planned when it is not what was expected, or more leaves than may; fresh: it is of
// a new version. Of what was expected and done already, the answer was lost.
func (p *planner) guard(ctx context.Context, x Export, fresh bool) error {
	if again := x.Expect == p.was.Applied && !fresh; x.Expect != "" && !again {
		s, err := p.steps(ctx)
		if err != nil {
			return err
		}
		if s.digest(p) != x.Expect {
			return fault.New(fault.Refused, "", "the state is not what the plan was made from; "+
				"nothing was done").WithHint("make the plan again")
		}
	}
	if x.Limits == nil {
		return nil
	}
	var deleted, leaving []resource.ID
	for _, id := range p.order {
		was, now := p.before[id], p.rows[id]
		w, told, err := p.step(&was, now)
		switch {
		case err != nil:
			return err
		case !told, was.Removing && now.Removing:
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
		return tooMany(deleted, "would be deleted", n)
	}
	if n := x.Limits.Leave; n >= 0 && len(leaving) > n {
		return tooMany(leaving, "would leave the model", n)
	}
	return nil
}

// tooMany refuses an export for what would become of ids.
func tooMany(ids []resource.ID, what string, most int) error {
	var problems diag.Problems
	slices.Sort(ids)
	for _, id := range ids {
		problems.Add(diag.Problem{Resource: string(id), Message: what})
	}
	noun := "resources"
	if len(ids) == 1 {
		noun = "resource"
	}
	return &fault.Error{Kind: fault.Refused, Err: problems.Err(),
		Message: fmt.Sprintf("%d %s %s, and %d may; nothing was done", len(ids), noun, what, most)}
}
