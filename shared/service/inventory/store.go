package inventory

import (
	"context"
	"encoding/json"
	"time"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// Record is the stored form of an instance.
//
// Large: a store reads and writes it whole, as one item. Its field names are the stored names.
type Record struct {
	ID             string `json:"id"`
	Service        string `json:"service_entity"`
	ServiceVersion int    `json:"service_entity_version"`
	// Definition is the digest of the definition whose rules and lifecycle apply to the instance.
	// It is the definition of the order, or of the last update.
	Definition string `json:"definition,omitempty"`
	// Made holds the digests of the definitions that the sets were made for.
	Made Made `json:"made,omitzero"`
	lifecycle.Instance
	// Identity is the value of the identity attribute as text; "" if the service has none.
	Identity string `json:"service_identity_attribute_value,omitempty"`
	// References are the ids of other instances that any of the sets refers to, without duplicates.
	References []string `json:"references,omitempty"`
	// Closed reports whether a delete has begun. No other instance may then refer to this one.
	Closed   bool              `json:"closed,omitempty"`
	Callback string            `json:"callback,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Created  time.Time         `json:"created_at"`
	Updated  time.Time         `json:"last_updated"`
	// Problems are the problems of the last compile or deploy, as JSON of diag.Problem. They are
	// set if it failed and empty if it succeeded.
	Problems json.RawMessage `json:"problems,omitempty"`
	// Exported is the desired state whose resources are in the model. 0 means unknown. NotExported
	// means that they are not those of the desired state.
	Exported int64 `json:"exported,omitempty"`
	// Resources are the ids of its resources as of the last export; nil if they are unknown.
	Resources []string `json:"resources"`
	// Places are the positions in the model that make Resources, in the order of Resources. A place
	// without a file repeats the previous place, or is unknown. An empty list means that no place
	// is known.
	Places []diag.Pos `json:"places,omitempty"`
	// Follows are the ids of resources that the instance does not own, but whose outcome counts for
	// its lifecycle. They belong to another instance or to none. Exports of this instance do not
	// change them.
	Follows []string `json:"follows,omitempty"`
	// Model is the digest of the bundle of the last export of its resources; "" if it is unknown.
	Model string `json:"model,omitempty"`
	// Pinned is the digest of the bundle that compiles the instance. If it is "", the latest bundle
	// with the definition of the instance compiles it.
	Pinned string `json:"pinned,omitempty"`
	// Rolling is the move that a rollout has requested and that is still to be done; nil if none.
	Rolling *Move `json:"rolling,omitempty"`
	// Rollout is the last completed move of a rollout; nil if none.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Tasks are the effects that are still to be done, in order.
	Tasks []Task `json:"tasks,omitempty"`
	// Due is the time from which the tasks may be worked on: later than now while a retry backs
	// off.
	Due time.Time `json:"due,omitzero"`
	// Orders are marks of order items, the latest last. The last mark may be open. One earlier mark
	// may stay until its outcome is copied to the order.
	Orders []Mark `json:"orders,omitempty"`
	// Rev counts the writes of the record; 0 means that the record was never stored.
	Rev int64 `json:"-"`
}

// Made holds the digest of a definition for each set; "" for a set that does not exist.
type Made struct {
	Candidate string `json:"candidate,omitempty"`
	Active    string `json:"active,omitempty"`
	Rollback  string `json:"rollback,omitempty"`
}

// Was returns the record as kept in the history: without tasks, marks, moves and resources.
func (r Record) Was() Record {
	r.Tasks, r.Due, r.Resources, r.Places, r.Follows, r.Orders = nil, time.Time{}, nil, nil, nil,
		nil
	r.Rev, r.Rolling, r.Rollout = 0, nil, nil
	return r
}

// Placed returns the known positions in the model that make the resources of the instance, by
// resource id.
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

// NotExported is the value of Record.Exported after a failed export, if the exported state was
// unknown before. It never equals the desired state.
const NotExported = -1

// Task is an effect of the lifecycle that is still to be done.
type Task struct {
	Kind    TaskKind `json:"kind"`
	Number  int64    `json:"number,omitempty"`  // the version or the desired state of the task
	Set     string   `json:"set,omitempty"`     // of a validation
	Present bool     `json:"present,omitempty"` // of an export: else the resources leave the model
	Purge   bool     `json:"purge,omitempty"`   // of an export: the resources are purged
}

// TaskKind is the kind of a task.
type TaskKind string

// The kinds of tasks. TaskValidate compiles to validate, and TaskExport compiles and deploys.
// TaskWatch checks the outcome of deployed resources. TaskContinue looks for an automatic transfer.
// TaskGone releases everything that a deleted instance had. TaskRollout moves the instance to
// another definition and model.
const (
	TaskValidate TaskKind = "validate"
	TaskExport   TaskKind = "export"
	TaskWatch    TaskKind = "watch"
	TaskContinue TaskKind = "continue"
	TaskGone     TaskKind = "gone"
	TaskRollout  TaskKind = "rollout"
)

// Tasks returns the tasks for the effects of a step.
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

// Event is an entry of the history of an instance.
type Event struct {
	// Seq is the position of the event in the history of the instance. The store numbers events
	// from 1.
	Seq     int64     `json:"seq"`
	At      time.Time `json:"timestamp"`
	Version int64     `json:"service_instance_version"` // the version of the instance at that time
	Kind    string    `json:"event_type"`
	From    string    `json:"source,omitempty"`      // "": it was created, or stays in its state
	To      string    `json:"destination,omitempty"` // "": it stays in its state
	Error   bool      `json:"is_error_transition,omitempty"`
	Message string    `json:"message,omitempty"` // for people; contains no secrets
	// More holds further data of the event, for example problems with their places.
	More json.RawMessage `json:"more,omitempty"`
	// Compile is the compile that the event follows from; nil: it follows from none.
	Compile *Compile `json:"compile,omitempty"`
}

// Compile describes the compile of a model for instances. It is kept as long as its event; its trace
// and output are removed after CompileKept.
type Compile struct {
	DurationMS int64 `json:"duration_ms" doc:"how long it took"`
	Instances  int   `json:"instances" doc:"number of instances that it was for"`
	// Trace is the text of all problems, with the places that lead to them, at most MaxTrace bytes.
	Trace string `json:"trace,omitempty" doc:"all problems, with the places in the model that lead to them"`
	// Output is the text that the model printed, without secrets. The instances of a compile share
	// MaxOutput.
	Output string `json:"output,omitempty" doc:"the output of the model, without secrets; at most 64 KiB for all instances of the compile, kept for 30 days"`
	// Removed means that there were a trace or an output, which are older than CompileKept.
	Removed bool `json:"removed,omitempty" doc:"trace and output were removed after 30 days"`
}

// MaxTrace and MaxOutput are the maximum stored sizes for a compile: of the trace in bytes,
// and of the output in bytes of JSON. CompileKept is how long both are kept.
const (
	MaxTrace    = 16 << 10
	MaxOutput   = 64 << 10
	CompileKept = 30 * 24 * time.Hour
)

// Change is the new content of a record, with the events that led to it. Rev is the revision of the
// record that was read.
type Change struct {
	Record Record
	Events []Event
	// Under are the generations of services under which values in Record were chosen.
	Under []Generation
}

// Bounds of one call of a store. A DynamoDB transaction holds 100 items and 4 MB, and an item holds
// 400 KB. docs/design/services.md lists how many of them an instance needs.
const (
	MaxPage = 1000
	// MaxVersions is the number of versions of an instance that one call reads.
	MaxVersions = 100
	// MaxChanges is the number of instances in one Write, if they refer to no new instances.
	MaxChanges = 12
	// MaxReferences is the number of other instances that one instance may refer to.
	MaxReferences = 40
	// MaxRecord is the size of a record, in bytes of JSON. MaxEvents is the size of the events of
	// one change. MaxBytes is the size of all changes of a Write. It counts each record twice,
	// because the store also keeps the record as a version. Writers of events truncate them.
	MaxRecord = 360 << 10
	MaxEvents = 128 << 10
	MaxBytes  = 3 << 20
	// MaxName is the length of an id or a service in bytes, and MaxIdentity that of an identity.
	MaxName     = definition.MaxName
	MaxIdentity = 2048
)

// Store keeps instances. Each instance belongs to an environment. A method fails with
// fault.NotFound for a missing instance, or with an error that Write lists.
type Store interface {
	// Write stores all changes or none, and returns the new revisions. It fails with
	//
	//   - fault.Conflict if a record has another revision than the one that was read;
	//   - fault.Conflict of IsMoved if a generation of a change has moved since it was read;
	//   - fault.Refused if two instances of a service that are not deleted would have one identity;
	//   - fault.Refused if an instance that is not deleted would refer to one that is missing,
	//     deleted or closed;
	//   - fault.Invalid for no changes, for two changes of one instance, and for changes beyond the
	//     bounds above;
	//   - fault.Invalid if the service or the time of creation of an instance differs.
	//
	// Write also moves the generations of its changes. Texts of compiles that are older than
	// CompileKept at the time of its newest event are removed, with the Write or by the store later.
	// After fault.Unavailable the changes may have
	// been written: the caller reads the records again and decides again.
	Write(ctx context.Context, env string, changes []Change) ([]int64, error)
	// Instance returns a record.
	Instance(ctx context.Context, env, id string) (Record, error)
	// ByIdentity returns the record of a service that has the identity and is not deleted.
	ByIdentity(ctx context.Context, env, service, identity string) (Record, error)
	// Instances returns a page of records. The last page has fewer records than the limit.
	Instances(ctx context.Context, env string, q Query) ([]Record, error)
	// Count counts the records of a query, and those up to After. It ignores the limit.
	Count(ctx context.Context, env string, q Query) (Count, error)
	// ByState counts the instances of a service that are not deleted, without reading records.
	ByState(ctx context.Context, env, service string) (map[Standing]int, error)
	// ReferredBy returns the ids of instances that refer to an instance and are not deleted,
	// sorted.
	ReferredBy(ctx context.Context, env, id string) ([]string, error)
	// Events returns at most limit events of an instance after a position, oldest first. A compile
	// whose texts were removed is marked (Compile.Removed).
	Events(ctx context.Context, env, id string, after int64, limit int) ([]Event, error)
	// Versions returns the versions of an instance after a given one, oldest first. It returns at
	// most limit and at most MaxVersions. Each is the result of Was for the last record written at
	// that version. The newest version is the current record.
	Versions(ctx context.Context, env, id string, after int64, limit int) ([]Record, error)
	// Generation returns the generation of a service. Callers read it before they read the values
	// of the instances.
	Generation(ctx context.Context, env, service string) (Generation, error)
	// Due returns records that have tasks and whose Due is not later than now, earliest Due first.
	Due(ctx context.Context, env string, now time.Time, limit int) ([]Record, error)
}

// Owners finds the owners of resource sets: an instance owns the set that is named by its id. Whole
// exports keep the sets of live instances. A rollback to a release restores no set of a deleted
// instance (deploy.Config.Owned).
type Owners interface {
	// Owners returns the ids of live instances and the ids of deleted instances, each in the order
	// of ids.
	Owners(ctx context.Context, env string, ids []string) (live, gone []string, err error)
}

// Following holds the resources that an instance follows, and the last outcome that its lifecycle
// got.
type Following struct {
	Resources []string
	Outcome   lifecycle.Outcome
}

// Following returns the resources that the instance follows and its outcome; false if it follows
// none.
func (r *Record) Following() (Following, bool) {
	return Following{r.Follows, r.Outcome}, len(r.Follows) > 0 && !r.Deleted
}

// Shared stands for the resources in no set, in a list of ids of instances whose resources were
// run. Such resources belong to no instance, but instances may follow them.
const Shared = ""

// Followers finds the instances that follow resources of others, without reading all records. A
// store writes this index together with the record, so the index is as fresh as the record.
type Followers interface {
	// Followers returns the followed resources of instances that are not deleted, by instance id.
	Followers(ctx context.Context, env string) (map[string]Following, error)
}

// References returns the ids that the relations of a service hold in sets of attributes. They are
// in the order of the relations, without duplicates.
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
