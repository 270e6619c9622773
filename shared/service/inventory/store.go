package inventory

import (
	"context"
	"encoding/json"
	"time"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// Record is what is stored of an instance.
//
// Large: it is stored and read whole, one item in a store, with the names that are stored.
type Record struct {
	ID             string `json:"id"`
	Service        string `json:"service_entity"`
	ServiceVersion int    `json:"service_entity_version"`
	// Definition is the digest of the definition whose rules and lifecycle hold for the instance:
	// that of the order, or of the last update.
	Definition string `json:"definition,omitempty"`
	// Made are the digests of the definitions that the sets were made for.
	Made Made `json:"made,omitzero"`
	lifecycle.Instance
	// Identity is the value of the identity attribute as text; "" where the service has none.
	Identity string `json:"service_identity_attribute_value,omitempty"`
	// References are the ids of other instances that any of the sets leads to, without repeats.
	References []string `json:"references,omitempty"`
	// Closed says that a delete has begun, so that nobody may refer to the instance any more.
	Closed   bool              `json:"closed,omitempty"`
	Callback string            `json:"callback,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Created  time.Time         `json:"created_at"`
	Updated  time.Time         `json:"last_updated"`
	// Problems are those of the last compile or deploy that failed (diag.Problem); none after one
	// that did not.
	Problems json.RawMessage `json:"problems,omitempty"`
	// Exported is the desired state whose resources are in the model; 0: not known; NotExported:
	// not the one that is desired.
	Exported int64 `json:"exported,omitempty"`
	// Resources are the ids of its resources, as they were exported last; nil: that is not known.
	Resources []string `json:"resources"`
	// Places are where the model makes Resources, in their order; a place without a file is that of
	// the one before, or not known; none: they are not known.
	Places []diag.Pos `json:"places,omitempty"`
	// Follows are the ids of resources that are not its own, and count for its lifecycle as these
	// do. They are nobody's, or another instance's: nothing is done to them for the instance.
	Follows []string `json:"follows,omitempty"`
	// Model is the digest of the bundle that its resources were exported with last; "": it is not
	// known.
	Model string `json:"model,omitempty"`
	// Pinned is the digest of the bundle that it is compiled with; "": the last one that has its
	// definition.
	Pinned string `json:"pinned,omitempty"`
	// Rolling is the move that a rollout has asked for and that is not done yet; nil: none.
	Rolling *Move `json:"rolling,omitempty"`
	// Rollout is the last move of a rollout; nil: none.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Tasks are effects that are not done yet, in order.
	Tasks []Task `json:"tasks,omitempty"`
	// Due is since when the first task waits, or until when somebody works on it.
	Due time.Time `json:"due,omitzero"`
	// Orders are marks of items of orders, the last one last: one that may be open, and perhaps one
	// before it of which the order does not know yet what became of it.
	Orders []Mark `json:"orders,omitempty"`
	// Rev counts the writes of the record; 0 is one that was never stored.
	Rev int64 `json:"-"`
}

// Made are the digests of definitions, a set each; "" where there is no set.
type Made struct {
	Candidate string `json:"candidate,omitempty"`
	Active    string `json:"active,omitempty"`
	Rollback  string `json:"rollback,omitempty"`
}

// Was returns what is kept of a record for its history: all but what is to be done about it.
func (r Record) Was() Record {
	r.Tasks, r.Due, r.Resources, r.Places, r.Follows, r.Orders = nil, time.Time{}, nil, nil, nil,
		nil
	r.Rev, r.Rolling, r.Rollout = 0, nil, nil
	return r
}

// Placed returns where the model makes the resources of the instance, by their ids, as far as that
// is known.
func (r *Record) Placed() map[string]diag.Pos {
	out, at := map[string]diag.Pos{}, diag.Pos{}
	for i := range min(len(r.Places), len(r.Resources)) {
		if r.Places[i].File != "" {
			at = r.Places[i]
		}
		if at.File != "" {
			out[r.Resources[i]] = at
		}
	}
	return out
}

// NotExported is Record.Exported where an export has failed of which nobody knows what is in the
// model: what was exported before may have been written nowhere.
const NotExported = -1

// Task is an effect of the lifecycle that is to be done.
type Task struct {
	Kind    TaskKind `json:"kind"`
	Number  int64    `json:"number,omitempty"`  // the version or the desired state that it is for
	Set     string   `json:"set,omitempty"`     // of a validation
	Present bool     `json:"present,omitempty"` // of an export: without it, resources leave the model
	Purge   bool     `json:"purge,omitempty"`   // of an export: resources are purged
}

// TaskKind says what a task is.
type TaskKind string

// The kinds of tasks: compile to validate, compile and deploy, look what became of what is
// deployed, look for what begins by itself, let go of what an instance had, and move the instance to
// another definition and model.
const (
	TaskValidate TaskKind = "validate"
	TaskExport   TaskKind = "export"
	TaskWatch    TaskKind = "watch"
	TaskContinue TaskKind = "continue"
	TaskGone     TaskKind = "gone"
	TaskRollout  TaskKind = "rollout"
)

// Tasks returns the tasks that effects of a step are.
func Tasks(effects []lifecycle.Effect) []Task {
	var out []Task
	for _, e := range effects {
		switch e := e.(type) {
		case lifecycle.Validate:
			out = append(out, Task{Kind: TaskValidate, Number: e.Version, Set: string(e.Set)})
		case lifecycle.Export:
			out = append(out, Task{
				Kind: TaskExport, Number: e.Desired, Present: e.Present, Purge: e.Purge,
			})
		case lifecycle.Continue:
			out = append(out, Task{Kind: TaskContinue})
		case lifecycle.Gone:
			out = append(out, Task{Kind: TaskGone})
		}
	}
	return out
}

// Event is something that has happened to an instance.
type Event struct {
	// Seq is its place among the events of the instance. The store numbers events, from 1.
	Seq     int64     `json:"seq"`
	At      time.Time `json:"timestamp"`
	Version int64     `json:"service_instance_version"` // of the instance then
	Kind    string    `json:"event_type"`
	From    string    `json:"source,omitempty"`      // "": it was made, or stays in its state
	To      string    `json:"destination,omitempty"` // "": it stays in its state
	Error   bool      `json:"is_error_transition,omitempty"`
	Message string    `json:"message,omitempty"` // for people; no secrets
	// More is what else is known of it: problems with their places, say.
	More json.RawMessage `json:"more,omitempty"`
}

// Change is a record as it shall be, with what has happened. Rev is that of the record as it was
// read.
type Change struct {
	Record Record
	Events []Event
	// Under are the generations of services at which values in Record were chosen.
	Under []Generation
}

// Query picks instances.
type Query struct {
	Service     string   // "" for all
	States      []string // none for all
	Deleted     bool     // those that are deleted too
	NewestFirst bool
	After       *Record // the last one of the page before; only ID and Created count
	Limit       int     // at most MaxPage; 0 is MaxPage
}

// Count counts the entries of a list.
type Count struct {
	Total int
	Ahead int // those that stand in front of After in the order of the query, and After itself
}

// Bounds of what a store does at once. A transaction of DynamoDB has 100 items and 4 MB, and an
// item 400 KB; docs/design/services.md says what an instance takes of them.
const (
	MaxPage = 1000
	// MaxVersions is how many versions of an instance are read at once.
	MaxVersions = 100
	// MaxChanges is how many instances a Write has, if they lead to nothing new.
	MaxChanges = 12
	// MaxReferences is to how many other instances one may lead.
	MaxReferences = 40
	// MaxRecord and MaxEvents are bytes of JSON of a record, and of what has happened to it in one
	// change; MaxBytes those of all changes of a Write, with records counted twice, as they are
	// kept as versions too. Whoever writes events cuts them.
	MaxRecord = 360 << 10
	MaxEvents = 128 << 10
	MaxBytes  = 3 << 20
	// MaxName is how many bytes an id, a service, and an identity may have.
	MaxName     = definition.MaxName
	MaxIdentity = 2048
)

// Store keeps instances. Everything belongs to an environment. Errors are fault.NotFound for what
// is not there, and those that Write names.
type Store interface {
	// Write stores changes, all of them or none, and returns the new revisions. It fails with
	// fault.Conflict where a record has another revision than was read; with fault.Refused where
	// afterwards two instances of a service that are not deleted would have one identity, or one
	// that is not deleted would refer to another that is not there, is deleted or closed; with
	// fault.Conflict of IsMoved where a generation that a change is under is another one by now;
	// with fault.Invalid for no changes, two of one instance, more than the bounds above, or
	// another service or time of creation than the instance has. Generations that changes are under
	// move with it. After fault.Unavailable it may have been written: read, and decide anew.
	Write(ctx context.Context, env string, changes []Change) ([]int64, error)
	// Instance returns a record.
	Instance(ctx context.Context, env, id string) (Record, error)
	// ByIdentity returns the record of a service that is not deleted and has an identity.
	ByIdentity(ctx context.Context, env, service, identity string) (Record, error)
	// Instances returns a page of records by the time of their orders; the last one has fewer than
	// the limit.
	Instances(ctx context.Context, env string, q Query) ([]Record, error)
	// Count counts the records of a query whatever its limit, and those up to After.
	Count(ctx context.Context, env string, q Query) (Count, error)
	// ReferredBy returns the ids of instances that are not deleted and refer to one, sorted.
	ReferredBy(ctx context.Context, env, id string) ([]string, error)
	// Events returns events of an instance behind a place, oldest first, at most limit.
	Events(ctx context.Context, env, id string, after int64, limit int) ([]Event, error)
	// Versions returns what an instance was at its versions behind one, oldest first, at most limit
	// and MaxVersions: as Was returns what was written last at each. The last is what it is now.
	Versions(ctx context.Context, env, id string, after int64, limit int) ([]Record, error)
	// Generation returns that of a service, before it is read what its instances have.
	Generation(ctx context.Context, env, service string) (Generation, error)
	// Due returns records that have tasks and whose Due is not later than now, the oldest first.
	Due(ctx context.Context, env string, now time.Time, limit int) ([]Record, error)
}

// Owners says whose resource sets there are: instances have those that are named by their ids.
// Whole exports leave them, and releases bring back none of one that is deleted
// (deploy.Config.Owned).
type Owners interface {
	// Owners returns those of ids that are of instances which live, and of those which are deleted,
	// each in their order.
	Owners(ctx context.Context, env string, ids []string) (live, gone []string, err error)
}

// Following is what an instance follows, and what its lifecycle was told of its resources last.
type Following struct {
	Resources []string
	Outcome   lifecycle.Outcome
}

// Following returns what is to be known of an instance by what it follows; false: it follows
// nothing.
func (r *Record) Following() (Following, bool) {
	return Following{r.Follows, r.Outcome}, len(r.Follows) > 0 && !r.Deleted
}

// Shared stands among the ids of instances of which something was run for what is in no resource
// set, and so nobody's: instances may follow it.
const Shared = ""

// Followers says which instances follow resources that are not their own, without reading the
// others. It is written with the record, and what it says is as new as the record is.
type Followers interface {
	// Followers returns what instances that are not deleted follow, by their ids.
	Followers(ctx context.Context, env string) (map[string]Following, error)
}

// References returns the ids that sets of attributes lead to by the relations of a service, sorted
// by where they stand, without repeats.
func References(s *definition.Service, sets ...map[string]any) []string {
	var out []string
	seen := map[string]bool{}
	add := func(v any) {
		if id, ok := v.(string); ok && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	var walk func(p *definition.Part, in map[string]any)
	walk = func(p *definition.Part, in map[string]any) {
		for i := range p.Relations {
			v := in[p.Relations[i].Name]
			add(v)
			list, _ := v.([]any)
			for _, one := range list {
				add(one)
			}
		}
		for i := range p.Embedded {
			e := &p.Embedded[i]
			list, ok := in[e.Name].([]any)
			if !ok {
				list = []any{in[e.Name]}
			}
			for _, one := range list {
				if m, ok := one.(map[string]any); ok {
					walk(&e.Part, m)
				}
			}
		}
	}
	for _, set := range sets {
		walk(&s.Part, set)
	}
	return out
}
