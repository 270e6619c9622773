package orders

import (
	"context"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Draft is an order to preview: Create, or else Update with attributes or edits.
type Draft struct {
	Create     *Creation
	Update     Wish
	Attributes map[string]any
	Edits      []inventory.Edit
}

// drafts prepares orders without placing them.
type drafts struct{ *changes }

// Drafted returns the change for an order without writing it.
func (s *drafts) Drafted(ctx context.Context, env string, d Draft) (inventory.Change, error) {
	if o := d.Create; o != nil {
		if o.ID == "" {
			o.ID = s.NewID()
		} else if err := CheckID(o.ID); err != nil {
			return inventory.Change{}, err
		}
		f, err := s.creation(ctx, env, *o, nil)
		if err == nil && len(f.record.References) > inventory.MaxReferences {
			err = fault.New(fault.Invalid, "", "it leads to too many instances")
		}
		return f.change, err
	}
	do := s.update(ctx, env, d.Attributes, nil)
	if len(d.Edits) > 0 {
		do = s.edit(ctx, env, d.Edits, nil)
	}
	f, err := s.prepared(ctx, env, d.Update, string(lifecycle.ByUpdate), do)
	return f.change, err
}

// Shown returns a record in the form of the API.
func (s *core) Shown(ctx context.Context, env string, r inventory.Record) (Instance, error) {
	kept, err := s.Definitions.Of(ctx, env, r.Service, r.ServiceVersion, r.Definition)
	if err != nil {
		return Instance{}, err
	}
	return shown(env, &found{r, kept.Service}), nil
}
