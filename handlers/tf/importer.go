package tf

import (
	"bytes"
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/provider"
	"southbound/shared/tf/adopt"
	"southbound/shared/tf/process"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// importer is a session that describes objects of which nothing is kept.
type importer struct{ *session }

// imported is an object that was found, with its identifier in documents.
type imported struct {
	id  string
	now *live
}

// Import implements provider.Importer. The label of an object is its identifier.
func (h *handler) Import(
	ctx *provider.Context, ids []string, found func(provider.Found) error,
) error {
	opened, err := h.bridge.open(ctx, &h.meta, provider.Resource{})
	if err != nil {
		return err
	}
	s := importer{opened}
	defer s.close()
	if len(ids) == 0 {
		if ids, err = s.listed(); err != nil {
			return err
		}
	}
	var all []imported
	for _, id := range ids {
		now, err := s.adoptAs(provider.NeedsChange, wire.Import{ID: id})
		switch {
		case err != nil:
			return provider.Errorf(provider.ClassOf(err), "the import of %q failed; check that %s has an object "+
				"with this identifier: %w", id, s.meta.theirs, err)
		case now == nil:
			return provider.Errorf(provider.NeedsChange, "the provider has no object of %s with the "+
				"identifier %q", s.meta.theirs, id)
		}
		one := imported{id, now}
		for _, other := range all {
			if other.same(one) {
				return provider.Errorf(provider.NeedsChange, "the identifiers %q and %q are those of one "+
					"object; name it once", other.id, id)
			}
		}
		all = append(all, one)
	}
	for _, one := range all {
		f, err := s.describe(one)
		if err == nil {
			err = found(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two identifiers have led to one object.
func (a imported) same(b imported) bool {
	if !a.now.identity.Absent() && bytes.Equal(a.now.identity.Msgpack, b.now.identity.Msgpack) {
		return true
	}
	return a.now.state.RawEquals(b.now.state)
}

// hiddenText is a sensitive text in a configuration.
type hiddenText struct{ text string }

// describe returns the resource that describes an object.
func (s importer) describe(one imported) (provider.Found, error) {
	schema := s.program.schemas.Resources[s.meta.theirs]
	ours := func(name string) bool { // an id that is optional and computed is read-only here
		for i := range schema.Block.Attributes {
			if a := &schema.Block.Attributes[i]; a.Name == name {
				return name != "id" || !a.Computed
			}
		}
		return true
	}
	config, optional, err := adopt.ConfigOf(&schema.Block, one.now.state, ours,
		func(_, text string) any { return hiddenText{text} })
	var notes []string
	if err != nil {
		notes = append(notes, fmt.Sprintf("complete it: %v", err))
	}
	for i := range optional {
		optional[i] = s.meta.here(optional[i])
	}
	attributes, note, err := fit(s.meta, s.meta.reported(config), optional, s.refused)
	if err != nil {
		return provider.Found{}, err
	}
	if note == "" {
		note, err = s.firstApply(one.now, attributes)
	}
	if err != nil {
		return provider.Found{}, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	out, _ := replaced(attributes, func(hiddenText) any { return provider.Hidden{} }).(map[string]any)
	out[attrLabel], out[attrImport] = one.id, one.id
	return provider.Found{Attributes: out, Notes: notes}, nil
}

// replaced returns a value with others in the places of its sensitive texts.
func replaced(v any, by func(hiddenText) any) any {
	switch v := v.(type) {
	case hiddenText:
		return by(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = replaced(e, by)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = replaced(e, by)
		}
		return out
	}
	return v
}

// known returns the configuration of attributes with their sensitive texts.
func (s importer) known(attributes map[string]any) (cty.Value, error) {
	plain, _ := replaced(attributes, func(h hiddenText) any { return h.text }).(map[string]any)
	return s.ty.FromAttributes(s.meta.configured(plain))
}

// refused returns the reason why attributes are not valid, or nil.
func (s importer) refused(attributes map[string]any) (refused, err error) {
	config, err := s.known(attributes)
	if err != nil {
		return s.meta.invalid(err), nil
	}
	v, err := encode(s.ty, config)
	if err != nil {
		return nil, broken(err)
	}
	var found []wire.Diagnostic
	failed, stopped, err := s.do(provider.NeedsChange,
		func(ctx context.Context, c *process.Call) (_ []wire.Diagnostic, err error) {
			found, err = c.ValidateResource(ctx, s.meta.theirs, v)
			return found, err
		})
	switch {
	case err != nil:
		return nil, err
	case stopped:
		return nil, provider.Errorf(provider.Retryable, "the call to the provider was interrupted")
	case failed != nil:
		return &failure{found, failed}, nil
	}
	return nil, nil
}

// firstApply returns a note if the first apply of attributes would change the object: a provider may
// not return all of its configuration.
func (s importer) firstApply(now *live, attributes map[string]any) (note string, err error) {
	config, err := s.known(attributes)
	if err != nil {
		return "", s.meta.invalid(err)
	}
	p, err := s.plan(now, config)
	if provider.ClassOf(err) == provider.NeedsChange {
		return "complete it, since the provider does not plan it: " + textOf(err), nil
	}
	if err != nil {
		return "", err
	}
	if paths := s.ty.Replacements(p.requires, p.prior, p.planned); len(paths) > 0 {
		return "the first apply replaces the object, since " + s.meta.places(paths) + " differs", nil
	}
	if paths := s.ty.Changes(p.prior, p.planned, p.config).Changed; len(paths) > 0 {
		return "the first apply changes " + s.meta.places(paths), nil
	}
	return "", nil
}

// maxListed bounds the objects of one list.
const maxListed = 10_000

// listed returns the identifiers of the objects that the provider lists. It lists identities; the
// identifier of an object is its attribute id, if an import by it leads to the same object.
func (s importer) listed() ([]string, error) {
	identities, err := s.identities()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, identity := range identities {
		now, err := s.adopt(wire.Import{Identity: identity})
		if err != nil {
			return nil, err
		}
		if now == nil {
			continue // deleted since it was listed
		}
		id, has := s.ty.Attributes(now.state)["id"].(string)
		if !has || id == "" {
			return nil, provider.Errorf(provider.NeedsChange, "the provider lists %s by identities, and its "+
				"objects have no id; name the identifiers with --import", s.meta.theirs)
		}
		out = append(out, id)
	}
	return out, nil
}

// identities returns the identities of the objects that the provider lists.
func (s importer) identities() ([]wire.DynamicValue, error) {
	schema, lists := s.program.schemas.Lists[s.meta.theirs]
	if !lists {
		return nil, provider.Errorf(provider.NeedsChange, "the provider does not list %s; name the "+
			"identifiers of objects with --import", s.meta.theirs)
	}
	ty, err := value.Compile(&schema)
	if err != nil {
		return nil, broken(err)
	}
	config, err := ty.FromAttributes(nil)
	if err != nil {
		return nil, provider.Errorf(provider.NeedsChange, "a list of %s has to be restricted: %s; name the "+
			"identifiers of objects with --import", s.meta.theirs, textOf(err))
	}
	q := wire.List{Type: s.meta.theirs, Limit: maxListed + 1}
	if q.Config, err = encode(ty, config); err != nil {
		return nil, broken(err)
	}
	var out []wire.DynamicValue
	err = s.ask(provider.Retryable, func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		out = nil
		err = c.List(ctx, q, func(l wire.Listed) error {
			d = append(d, l.Diagnostics...)
			if !l.Identity.Absent() {
				out = append(out, l.Identity)
			}
			return nil
		})
		return d, err
	})
	if err == nil && len(out) > maxListed {
		err = provider.Errorf(provider.NeedsChange, "the provider lists more than %d objects of %s; name the "+
			"identifiers of objects with --import", maxListed, s.meta.theirs)
	}
	return out, err
}
