package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"southbound/shared/diag"
)

// Attributes are attributes of an instance. JSON numbers keep their text.
type Attributes map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (a *Attributes) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return err // the JSON decoder of the caller adds the position
	}
	*a = m
	return nil
}

// Instance is an instance in the form of the API.
//
// Large: it is an object of the API, with the names that clients know.
type Instance struct {
	ID             string `json:"id"`
	Environment    string `json:"environment"`
	Service        string `json:"service_entity"`
	ServiceVersion int    `json:"service_entity_version"`
	Version        int64  `json:"version"`
	Desired        int64  `json:"desired_state_version"`
	State          string `json:"state"`
	// Label is info, success, warning or danger; "" if the state has none.
	Label     string          `json:"state_label"`
	Config    map[string]bool `json:"config"`
	Candidate Attributes      `json:"candidate_attributes"`
	Active    Attributes      `json:"active_attributes"`
	Rollback  Attributes      `json:"rollback_attributes"`
	Callback  *string         `json:"callback"`
	Deleted   bool            `json:"deleted"`
	Created   time.Time       `json:"created_at"`
	Updated   time.Time       `json:"last_updated"`
	// Progress is set if it was requested.
	Progress *Progress `json:"deployment_progress"`
	Identity *string   `json:"service_identity_attribute_value"`
	// ReferredBy are the instances that refer to it; nil in lists.
	ReferredBy []string `json:"referenced_by"`
	// Transfer is the trigger of the transfer that is being validated; nil if there is none.
	Transfer *string           `json:"transfer_context"`
	Metadata map[string]string `json:"metadata"`
	// Problems are the problems of the last compile or deploy that failed, with their places in the
	// model.
	Problems json.RawMessage `json:"problems"`
	// Follows are the ids of resources that it does not own, but whose outcome counts for its
	// lifecycle.
	Follows []string `json:"follows,omitempty"`
	// Places are the positions in the model that make its own resources, by their ids; nil in
	// lists.
	Places map[string]diag.Pos `json:"places,omitempty"`
	// Settled reports whether no transfer is in progress and none follows automatically.
	Settled bool `json:"settled"`
	// Failed reports whether its state is labelled warning or danger, or its resources could not be
	// deployed.
	Failed bool `json:"failed"`
}

// Progress is the progress of the deployment of the resources of an instance.
type Progress struct {
	Total    int `json:"total"`
	Failed   int `json:"failed"`
	Deployed int `json:"deployed"`
	Waiting  int `json:"waiting"`
}

// Problem returns the first problem of the instance on one line, with its place; "" if there is
// none.
func (i *Instance) Problem() string {
	var problems []diag.Problem
	if json.Unmarshal(i.Problems, &problems) != nil || len(problems) == 0 {
		return ""
	}
	return problems[0].String()
}

// orNil returns nil for an empty string.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// shown returns an instance in the form of the API.
func shown(env string, f *found) Instance {
	r := &f.record
	out := Instance{
		ID: r.ID, Environment: env, Service: r.Service, ServiceVersion: r.ServiceVersion,
		Version: r.Version, Desired: r.Desired, State: r.State, Config: r.Config,
		Candidate: r.Candidate, Active: r.Active, Rollback: r.Rollback, Callback: orNil(r.Callback),
		Deleted: r.Deleted, Created: r.Created, Updated: r.Updated, Identity: orNil(r.Identity),
		Transfer: orNil(string(r.Trigger)), Metadata: r.Metadata, Follows: r.Follows,
		Settled: r.Settled(&f.def),
	}
	if out.Problems = r.Problems; len(out.Problems) == 0 {
		out.Problems = json.RawMessage("[]")
	}
	if out.Config == nil {
		out.Config = map[string]bool{}
	}
	if out.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	out.Failed, out.Label = r.Failing(&f.def)
	return out
}

// Instance returns an instance, with the instances that refer to it.
func (s *core) Instance(ctx context.Context, env string, ref Ref) (Instance, error) {
	f, err := s.find(ctx, env, ref)
	if err != nil {
		return Instance{}, err
	}
	return s.whole(ctx, env, &f)
}

// whole returns an instance with the instances that refer to it.
func (s *core) whole(ctx context.Context, env string, f *found) (Instance, error) {
	out := shown(env, f)
	out.Places = f.record.Placed()
	by, err := s.Instances.ReferredBy(ctx, env, out.ID)
	if out.ReferredBy = by; by == nil {
		out.ReferredBy = []string{}
	}
	return out, err
}
