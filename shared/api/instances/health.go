package instances

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"southbound/shared/api/resources"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// Diagnosis is why an instance is unhealthy.
type Diagnosis struct {
	// Failures are unhealthy resources: those of the instance, and those on which it depends.
	Failures []FailingResource `json:"failures"`
	// Rejections are failed compiles, and failed deploys before the last transfer, the newest
	// first.
	Rejections []Rejection `json:"rejections"`
}

// InstanceResource is a resource of an instance, with its position in the model, if that is known.
type InstanceResource struct {
	ID     string       `json:"resource_id"`
	State  state.Status `json:"resource_state"`
	Reason string       `json:"reason"`
	Model  int          `json:"-"` // the version that the resource is of
	diag.Pos
}

// Rejection is a failed compile or deploy of an instance.
type Rejection struct {
	At      time.Time `json:"timestamp"`
	Version int64     `json:"service_instance_version"`
	From    string    `json:"source"`
	To      string    `json:"destination"`
	Message string    `json:"message"`
	// More holds further information: problems with their positions in the model.
	More json.RawMessage `json:"more,omitempty"`
	// The same in the form of the public clients.
	Instance int64        `json:"instance_version"`
	Compile  string       `json:"compile_id" doc:"the id of the event"`
	Errors   []RejectedBy `json:"errors"`
	Trace    *string      `json:"trace"`
	// Ran is the compile that was rejected.
	Ran *inventory.Compile `json:"compile,omitempty"`
}

// RejectedBy is an error of a rejection.
type RejectedBy struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// FailingResource is an unhealthy resource, with the failure in the form of the public clients.
type FailingResource struct {
	InstanceResource
	Failures []ResourceFailure `json:"failures"`
}

// ResourceFailure is why a resource is unhealthy.
type ResourceFailure struct {
	InstanceVersion int64     `json:"instance_version"`
	ModelVersion    int       `json:"model_version"`
	ID              string    `json:"resource_id"`
	At              time.Time `json:"time" doc:"of the last change of the instance"`
	Message         string    `json:"message"`
}

// Hints returns how to correct the problems in More.
func (r *Rejection) Hints() []string {
	var more struct {
		Problems []diag.Problem `json:"problems"`
	}
	_ = json.Unmarshal(r.More, &more) // another program's form has no hints
	var out []string
	for _, p := range more.Problems {
		if p.Hint != "" && !slices.Contains(out, p.Hint) {
			out = append(out, p.Hint)
		}
	}
	return out
}

// InstanceResources returns the resources of an instance, in order of id, and then the resources on
// which it depends.
func InstanceResources(
	ctx context.Context, h resourceLister, env string, instance *orders.Instance,
) ([]InstanceResource, error) {
	own, followed := []InstanceResource{}, []InstanceResource{}
	filter := []string{"set=" + instance.ID}
	if len(instance.Follows) > 0 {
		filter = nil // they are in no set, or in sets of other instances
	}
	err := h.Resources(ctx, env, filter, func(r *resources.Resource) error {
		one := InstanceResource{
			string(r.ID), r.Status, r.Reason, r.Version, instance.Places[string(r.ID)],
		}
		switch {
		case r.Set == instance.ID:
			own = append(own, one)
		case slices.Contains(instance.Follows, one.ID):
			followed = append(followed, one)
		}
		return nil
	})
	return append(own, followed...), err
}

// AllEvents calls f for all events of an instance, the oldest first.
func AllEvents(
	ctx context.Context, o Reader, env string, ref orders.Ref, f func(*orders.Event),
) error {
	return eachOf(func(after string) (orders.EventPage, error) {
		var q orders.EventQuery
		q.After = after
		return o.Events(ctx, env, ref, q)
	}, f)
}

// WholeLog calls f for all versions of an instance, the oldest first.
func WholeLog(
	ctx context.Context, o Reader, env string, ref orders.Ref, f func(*orders.LogEntry),
) error {
	return eachOf(func(after string) (orders.LogPage, error) {
		var q orders.LogQuery
		q.After = after
		return o.Log(ctx, env, ref, q)
	}, f)
}

// eachOf calls f for all items of a list; read returns the page after an item.
func eachOf[T any](read func(after string) (orders.Part[T], error), f func(*T)) error {
	for after := ""; ; {
		page, err := read(after)
		if err != nil {
			return err
		}
		for i := range page.Items {
			f(&page.Items[i])
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// maxRejections is how many failed compiles are returned.
const maxRejections = 10

// Diagnose returns why an instance is unhealthy.
func Diagnose(
	ctx context.Context, h resourceLister, o Reader, env string, instance *orders.Instance,
) (Diagnosis, error) {
	out := Diagnosis{Failures: []FailingResource{}, Rejections: []Rejection{}}
	all, err := InstanceResources(ctx, h, env, instance)
	if err != nil {
		return out, err
	}
	for _, r := range all {
		switch r.State {
		case state.StatusDeployed, state.StatusAvailable, state.StatusDeploying:
		default:
			out.Failures = append(out.Failures, FailingResource{r, []ResourceFailure{{
				instance.Version, r.Model, r.ID, instance.Updated,
				cmp.Or(r.Reason, string(r.State)),
			}}})
		}
	}
	ref := orders.Ref{Service: instance.Service, ID: instance.ID}
	err = AllEvents(ctx, o, env, ref, func(e *orders.Event) {
		if !e.Error && len(e.More) == 0 {
			return
		}
		if e.Trigger == lifecycle.ByResources && e.Version == instance.Version {
			return // the resources themselves are more precise
		}
		r := Rejection{
			At: e.At, Version: e.Version, From: wire.Text(e.From), To: wire.Text(e.To), Message: e.Message,
			More: e.More, Instance: e.Version, Compile: e.ID,
			Errors: []RejectedBy{{e.Type, e.Message}}, Ran: e.Ran,
		}
		if e.Ran != nil && e.Ran.Trace != "" {
			r.Trace = &e.Ran.Trace
		}
		out.Rejections = append([]Rejection{r}, out.Rejections...)
		out.Rejections = out.Rejections[:min(len(out.Rejections), maxRejections)]
	})
	return out, err
}

// maxSets is the number of sets up to which the resources of instances are selected by set. With
// more, all resources are read.
const maxSets = 100

// CountProgress fills in the progress of instances from the resources of their sets.
func CountProgress(
	ctx context.Context, h resourceLister, env string, instances []orders.Instance,
) error {
	at := map[string]*orders.Progress{}
	var filter []string
	for i := range instances {
		instances[i].Progress = &orders.Progress{}
		at[instances[i].ID] = instances[i].Progress
		filter = append(filter, "set="+instances[i].ID)
	}
	if len(instances) == 0 {
		return nil
	}
	if len(instances) > maxSets {
		filter = nil
	}
	return h.Resources(ctx, env, filter, func(r *resources.Resource) error {
		p := at[r.Set]
		if p == nil {
			return nil
		}
		p.Total++
		switch r.Status {
		case state.StatusDeployed, state.StatusNonCompliant:
			p.Deployed++
		case state.StatusAvailable, state.StatusDeploying:
			p.Waiting++
		default:
			p.Failed++
		}
		return nil
	})
}
