package tf

import (
	"github.com/zclconf/go-cty/cty"

	"southbound/shared/provider"
	"southbound/shared/tf/wire"
)

// FindCreated implements provider.Finder. A create removes or sets aside any earlier state first. So
// if the state lacks the token, it is older than the create, and the create has made nothing. Without
// a state, the object is looked up by the attribute import, or by the identity if the configuration
// determines it.
func (h *handler) FindCreated(ctx *provider.Context, req provider.CreateRequest) (bool, error) {
	s, err := h.bridge.open(ctx, &h.meta, req.Resource)
	if err != nil {
		return false, err
	}
	defer s.close()
	k, now, _, err := s.load()
	switch {
	case err != nil:
		return false, err
	case now != nil:
		return now.token == req.Token, nil
	}
	q, follows := lookup(s, req.Resource)
	if !follows {
		return false, provider.With(provider.Errorf(provider.Terminal, "its state was not stored, and the "+
			"configuration does not determine its identifier; set the attribute %s if it exists",
			attrImport), provider.ErrUndecided)
	}
	if now, err = s.adopt(q); err != nil || now == nil {
		return false, err
	}
	now.token = req.Token
	return true, s.keep(k, now)
}

// lookup returns the import of the object of a resource, and whether the configuration determines it.
func lookup(s *session, r provider.Resource) (q wire.Import, follows bool) {
	if id, _ := r.Attributes[attrImport].(string); id != "" {
		return wire.Import{ID: id}, true
	}
	identity := s.program.schemas.Identities[s.meta.theirs]
	required := identity.ForImport()
	ty, err := s.program.compiled("identity", s.meta.theirs)
	if err != nil || len(required) == 0 {
		return q, false
	}
	config, err := s.config(r)
	if err != nil {
		return q, false
	}
	values := map[string]cty.Value{}
	for name, t := range ty.Cty().AttributeTypes() {
		values[name] = cty.NullVal(t)
	}
	for _, name := range required {
		if !config.Type().HasAttribute(name) {
			return q, false
		}
		v := config.GetAttr(name)
		if v.IsNull() || !v.Type().Equals(values[name].Type()) {
			return q, false
		}
		values[name] = v
	}
	q.Identity, err = encode(ty, cty.ObjectVal(values))
	return q, err == nil
}
