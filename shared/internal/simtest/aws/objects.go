package aws

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/aws/dynamo"
	"southbound/shared/fault"
)

// Objects is a model of the objects of a bucket. Each call takes effect immediately. It must not be
// used concurrently.
type Objects struct {
	// Now returns the time; nil: the system clock.
	Now  func() time.Time
	data map[string]stored
}

type stored struct {
	data []byte
	at   time.Time
}

var _ dynamo.Objects = (*Objects)(nil)

// NewObjects returns an empty bucket.
func NewObjects() *Objects { return &Objects{data: map[string]stored{}} }

// Put implements dynamo.Objects.
func (o *Objects) Put(_ context.Context, name string, data []byte) error {
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	o.data[name] = stored{slices.Clone(data), now()}
	return nil
}

// Get implements dynamo.Objects.
func (o *Objects) Get(_ context.Context, name string) ([]byte, error) {
	s, ok := o.data[name]
	if !ok {
		return nil, fault.New(fault.NotFound, "read state", "there is no object %s", name)
	}
	return s.data, nil
}

// Delete implements dynamo.Objects.
func (o *Objects) Delete(_ context.Context, names ...string) error {
	for _, n := range names {
		delete(o.data, n)
	}
	return nil
}

// List implements dynamo.Objects.
func (o *Objects) List(_ context.Context, f func(name string, stored time.Time) error) error {
	for _, n := range slices.Sorted(maps.Keys(o.data)) {
		if err := f(n, o.data[n].at); err != nil {
			return err
		}
	}
	return nil
}
