package state

import (
	"bytes"
	"reflect"
	"slices"
	"time"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Counts reports whether the outcome is one of the present intent.
func (r *Row) Counts() bool { return r.Ran == r.Hash && !r.Undefined() }

// Current returns the outcome as it counts for the present intent: if the last run had another
// intent, only the data about the thing remains. A create of which a person has decided is none that
// was begun.
func (r *Row) Current() Outcome {
	o := r.Outcome
	if r.decided() {
		o.Creating = ""
		if o.Blocked == NeedsDecision {
			o.Blocked = NotBlocked
		}
	}
	if r.Counts() {
		return o
	}
	if o.LastRun == RunSuccess && o.Compliance == NonCompliant {
		o.LastRun = RunNew // so that resources skipped because of it are woken
	}
	o.Compliance, o.Blocked, o.Class, o.Attempts = HasUpdate, NotBlocked, "", 0
	o.Reason, o.Causes, o.Waiting = "", nil, nil
	o.NextAt, o.NotBefore = time.Time{}, time.Time{}
	return o
}

// decided reports whether a person has decided that a create whose outcome is not known may begin
// again.
func (r *Row) decided() bool { return r.Decided != "" && r.Decided == r.Creating }

// AdoptIntent makes the outcome one of the present intent.
func (r *Row) AdoptIntent() {
	r.Outcome = r.Current()
	r.Ran = r.Hash
}

// AsWanted reports whether a row was deployed as its intent wants when it was last checked.
func (r *Row) AsWanted() bool {
	return r.Counts() && r.LastRun == RunSuccess && r.Compliance == Compliant
}

// Undefined reports whether a value of the intent is not known.
func (i *Intent) Undefined() bool { return len(i.Missing) > 0 }

// Lacking reports whether a resource may not run, since it or a requirement is undefined.
func (i *Intent) Lacking() bool { return i.Undefined() || i.BlockedBy != "" }

// Comparison returns the thing compared with the intent.
func (r *Row) Comparison() Compliance {
	if r.Undefined() {
		return Undefined
	}
	return r.Current().Compliance
}

// Block returns whether a resource may run, and otherwise the reason. A skip ends when the resource is
// scheduled again.
func (r *Row) Block() Blocked {
	switch {
	case r.Lacking():
		return BlockedYes
	case r.Blocked == BlockedTemp && r.Ticket() != 0, !r.Counts(),
		r.Blocked == NeedsDecision && r.decided():
		return NotBlocked
	}
	return r.Blocked
}

// Why returns why a resource is not as wanted, for people, without secrets; "": it is not known, or
// the resource is as wanted.
func (r *Row) Why() string {
	switch {
	case r.Orphaned && r.PurgeOnDelete():
		return "left the model; not purged, since other resources keep paths in it"
	case r.Orphaned:
		return "left the model"
	case r.Problem != "":
		return r.Problem
	case r.Undefined():
		return Unknown(r.Missing)
	case r.BlockedBy != "":
		return "requires " + string(r.BlockedBy) + ", of which something is not known"
	case r.Removing && !r.Counts():
		return "left the model, to be purged"
	}
	return r.Current().Reason
}

// Unknown states why a resource is undefined; missing has at least one name.
func Unknown(missing []string) string { return missing[0] + " is not known" }

// Ticket returns the generation with which a row is scheduled; 0: it is not scheduled, unless a wave
// asks for it. A row is scheduled from the commit of a planner that gives it a generation until a
// run that was claimed with this generation has ended. A row that runs again without a request has
// the ticket 1.
func (r *Row) Ticket() int64 {
	switch {
	case r.Orphaned || r.Lacking() || r.Gone:
		return 0
	case r.Generation > r.Observed:
		return r.Generation
	case r.RunAgain:
		return 1
	}
	return 0
}

// Timer returns when a timer asks for a resource; zero: never, since the resource does not retry, may
// not run, or is scheduled already.
func (r *Row) Timer() time.Time {
	if !r.Runnable() || r.Ticket() != 0 {
		return time.Time{}
	}
	return r.Current().NextAt
}

// WantFacts reports whether the facts of a resource are requested, and no run has read them since.
func (r *Row) WantFacts() bool { return r.FactsAsked > r.FactsRead }

// AskFacts requests the facts of a resource. A pending request stays as it is.
func (r *Row) AskFacts() {
	if !r.WantFacts() {
		r.FactsAsked = r.FactsRead + 1
	}
}

// AskedForFacts reports whether the facts of a resource were ever requested: then its runs read them,
// since other resources may refer to them.
func (r *Row) AskedForFacts() bool { return r.FactsAsked > 0 }

// PendingPurges returns former requirements of a resource whose events it received, and that were
// purged since its last success. The next run reloads for them, since their rows are gone.
func (r *Row) PendingPurges() []resource.ID {
	if r.Purges <= r.Reloaded {
		return nil
	}
	return r.Purged
}

// AddPurges records that the next run reloads for the purge of resources.
func (r *Row) AddPurges(ids ...resource.ID) {
	r.Purged = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.PendingPurges(), ids))))
	r.Purges = max(r.Purges, r.Reloaded) + 1
}

// Runnable reports whether a row may be scheduled at all.
func (r *Row) Runnable() bool {
	return !r.Gone && !r.Orphaned && !r.Lacking() && r.Block() != NeedsDecision
}

// Clean reports whether a check that finds nothing to do would leave a row as it is.
func (r *Row) Clean() bool {
	return r.Ticket() == 0 && r.AsWanted() && r.Block() == NotBlocked &&
		r.Attempts == 0 && r.NextAt.IsZero() && r.Waiting == nil && r.Creating == "" &&
		!r.WantFacts() &&
		!r.PossiblyChanged &&
		!r.Removing &&
		!r.Orphaned &&
		r.Reason == "" &&
		r.Moves <= r.MovesSeen
}

// Damaged reports whether the stored intent of a resource cannot be used.
func (i *Intent) Damaged() bool { return len(i.Body) == 0 }

// WasPurged reports whether a row records that its thing was purged.
func (r *Row) WasPurged() bool {
	if r.Gone {
		return true
	}
	res, err := resource.Decode(r.Body)
	return err == nil && res.Purged && r.AsWanted()
}

// PurgeOnDelete reports whether the thing has to be purged when its resource leaves the model.
func (i *Intent) PurgeOnDelete() bool {
	res, err := resource.Decode(i.Body)
	return err == nil && res.PurgesOnDelete()
}

// ResourceSet returns the resource set that the resource is in; "" is the shared one.
func (i *Intent) ResourceSet() string { return resource.SetOf(i.Body) }

// SendsEvents reports whether dependants are notified when the resource has changed.
func (i *Intent) SendsEvents() bool {
	res, err := resource.Decode(i.Body)
	return err == nil && res.SendsEvents()
}

// SendsEventsTo reports whether a resource that requires this one is notified of its changes.
func (i *Intent) SendsEventsTo(res *resource.Resource) bool {
	other, err := resource.Decode(i.Body)
	return err == nil && res.ReceivesEventsOf(other)
}

// ReceivesEventsOf reports whether a resource is notified of the changes of a requirement; of is
// nil if the row of the requirement is gone.
func (i *Intent) ReceivesEventsOf(of *Row) bool {
	res, err := resource.Decode(i.Body)
	return err == nil && res.ReceiveEvents && (of == nil || of.SendsEventsTo(res))
}

// ChangedSince reports whether a resource has changed since another one succeeded. The order of two
// equal times is unknown; they count as a change, since a superfluous reload does less harm than a
// missing one.
func (o *Outcome) ChangedSince(succeeded time.Time) bool {
	return !o.ChangedAt.IsZero() && !o.ChangedAt.Before(succeeded)
}

// Because returns the root causes of a skip or a block; none: the resource is neither.
func (r *Row) Because() []resource.ID {
	switch {
	case r.Undefined():
		return []resource.ID{r.ID}
	case r.BlockedBy != "":
		return []resource.ID{r.BlockedBy}
	}
	return r.Current().Causes
}

// RootCauses returns the root causes for resources that are skipped because of r.
func (r *Row) RootCauses() []resource.ID {
	if causes := r.Because(); len(causes) > 0 {
		return causes
	}
	return []resource.ID{r.ID}
}

// AddMissingFacts adds to want the resources whose facts a row lacks.
func (r *Row) AddMissingFacts(want map[resource.ID]bool) error {
	if !r.Undefined() || r.Orphaned || r.Damaged() {
		return nil
	}
	res, err := resource.Decode(r.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read resource "+string(r.ID), err)
	}
	for _, ref := range resource.References(res.Attributes) {
		if f, ok := ref.(resource.Fact); ok {
			want[f.Of] = true
		}
	}
	return nil
}

// Follows reports whether the intent of a resource may have values of facts; false is certain.
func (i *Intent) Follows() bool { return bytes.Contains(i.Body, []byte(`"followed":`)) }

// AddFollowed adds to of the resources whose facts are among the values of a row.
func (r *Row) AddFollowed(of map[resource.ID]bool) error {
	if r.Orphaned || r.Damaged() || !r.Follows() {
		return nil
	}
	res, err := resource.Decode(r.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read resource "+string(r.ID), err)
	}
	for _, f := range res.Facts() {
		of[f.Of] = true
	}
	return nil
}

// WrittenAs reports whether now is the stored form of r after r was written.
func (r *Row) WrittenAs(now *Row) bool {
	a := *r
	if a.Rev++; r.Rev == 0 {
		a.Rev = now.Rev
	}
	return a.Same(now)
}

// Same reports whether two rows have the same content, regardless of the form of times and lists.
func (r *Row) Same(o *Row) bool {
	if r.Rev != o.Rev || r.Generation != o.Generation || r.Hash != o.Hash || r.LastAction != o.LastAction {
		return false
	}
	a, b := *r, *o
	for _, x := range []*Row{&a, &b} { // compared below, or derived from compared fields
		x.Missing, x.Causes, x.Waiting, x.Hidden = nil, nil, nil, nil
		x.Earlier, x.Purged = nil, nil
		x.NotBefore, x.LastAt, x.NextAt, x.ChangedAt, x.SucceededAt = time.Time{}, time.Time{},
			time.Time{}, time.Time{}, time.Time{}
		x.TriedAt = time.Time{}
	}
	return reflect.DeepEqual(&a, &b) && slices.Equal(r.Causes, o.Causes) &&
		slices.Equal(r.Missing, o.Missing) &&
		slices.Equal(r.Hidden, o.Hidden) &&
		slices.Equal(r.Earlier, o.Earlier) &&
		r.NextAt.Equal(o.NextAt) &&
		r.NotBefore.Equal(o.NotBefore)
}

// EarlierAgents returns the other agents at which a run of an earlier id of the thing may still be
// under way. The row does not start until these runs have ended.
func (r *Row) EarlierAgents() []string {
	var out []string
	for _, id := range r.EarlierIDs() {
		if agent := id.Agent(); agent != r.Agent {
			out = append(out, agent)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// EarlierIDs returns the earlier ids of the thing of a row of which a run may still be under way. The
// row does not start until these runs have ended. A release that continues after a crash identifies
// moved things by these ids.
func (r *Row) EarlierIDs() []resource.ID {
	if r.Moves <= r.MovesSeen {
		return nil
	}
	return r.Earlier
}

// SetMoved sets the ids that EarlierIDs returns until a run has ended.
func (r *Row) SetMoved(ids []resource.ID) {
	r.Earlier = ids
	if len(ids) > 0 {
		r.Moves = max(r.Moves, r.MovesSeen) + 1
	}
}

// Union returns the members of some lists, each once, in order of appearance.
func Union[T comparable](lists ...[]T) []T {
	var out []T
	for _, list := range lists {
		for _, v := range list {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// ManagesThingOf reports whether a row manages the thing that an id manages or managed before.
func (r *Row) ManagesThingOf(id resource.ID) bool {
	return id == r.ID || slices.Contains(r.EarlierIDs(), id)
}

// MayRunIn reports whether a run of a row may be under way at an agent, or may have ended there
// without a record: its agent, or that of an earlier id.
func (r *Row) MayRunIn(agent string) bool {
	return r.Agent == agent || slices.Contains(r.EarlierAgents(), agent)
}

// HideSecrets records the attributes of the intent that hold secrets, before the intent is
// replaced.
func (i *Intent) HideSecrets() {
	for _, name := range secretsOf(i.Body) {
		if !slices.Contains(i.Hidden, name) {
			i.Hidden = append(slices.Clip(i.Hidden), name)
		}
	}
}

// secretsOf returns the names of the attributes of an encoded resource that refer to secrets,
// sorted.
func secretsOf(body []byte) []string {
	if !bytes.Contains(body, []byte(`"secret":`)) {
		return nil
	}
	res, err := resource.Decode(body)
	if err != nil {
		return nil
	}
	var out []string
	for name, v := range res.Attributes {
		if resource.HasSecret(v) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Retried reports whether a failure of a class may pass without a change. Any other failure waits
// for a new intent or for a person.
func Retried(class provider.Class) bool {
	return class != ClassTerminal && class != ClassNeedsChange && class != ClassRefused
}
