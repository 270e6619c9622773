package tf

import (
	"maps"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// maxScalar bounds the texts that are reported as facts without a request, in bytes.
const maxScalar = 1 << 10

// facts returns the attributes of an object that may be facts, by their names in documents. It omits
// attributes with sensitive parts, and attributes whose configured value has a secret. The id is also
// present under the provider's name.
func (s *session) facts(l *live) map[string]any {
	if l.tainted || l.doubtful {
		return nil
	}
	out := s.ty.Attributes(l.state)
	for _, name := range firsts(s.ty.Sensitive(l.state)) {
		delete(out, name)
	}
	if stored := s.ctx.Stored(); stored != nil {
		for name, v := range s.meta.configured(stored.Attributes) {
			if resource.HasSecret(v) {
				delete(out, name)
			}
		}
	}
	id, has := out["id"]
	out = s.meta.reported(out)
	if has {
		out["id"] = id
	}
	return out
}

// report records the facts of an object that are small.
func (s *session) report(l *live) {
	for name, v := range s.facts(l) {
		switch v := v.(type) {
		case map[string]any, []any:
		case string:
			if len(v) <= maxScalar {
				s.ctx.Fact(name, v)
			}
		default:
			s.ctx.Fact(name, v)
		}
	}
}

// Facts implements provider.FactReader. An attribute that is too large for a fact is left out.
func (h *handler) Facts(ctx *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	s, err := h.bridge.open(ctx, &h.meta, req.Resource)
	if err != nil {
		return nil, err
	}
	defer s.close()
	_, now, _, err := s.load()
	if err != nil || now == nil {
		return nil, err
	}
	return small(s.facts(now)), nil
}

// small returns the facts that are not too large.
func small(facts map[string]any) map[string]any {
	out := maps.Clone(facts)
	for name, v := range facts {
		if _, err := provider.FactOf(name, v); err != nil {
			delete(out, name)
		}
	}
	return out
}
