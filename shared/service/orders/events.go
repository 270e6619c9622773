package orders

import (
	"context"

	"southbound/shared/service/inventory"
)

// Event is something that has happened to an instance.
type Event struct {
	Instance string `json:"service_instance_id"`
	Service  string `json:"service_entity"`
	inventory.Event
}

// Events returns events of an instance behind a place, oldest first, at most limit.
func (s *views) Events(
	ctx context.Context, env string, ref Ref, after int64, limit int,
) ([]Event, error) {
	r, err := s.record(ctx, env, ref)
	if err != nil {
		return nil, err
	}
	list, err := s.Instances.Events(ctx, env, r.ID, after, inventory.Page(limit))
	out := make([]Event, len(list))
	for i := range list {
		out[i] = Event{r.ID, r.Service, list[i]}
	}
	return out, err
}

// Entered reports whether the instance has come to a state, To, and not only been asked to.
func (e *Event) Entered() bool { return e.To != "" }
