package tf

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"strconv"
	"time"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/tf/wire"
)

// The limits of calls. answerMargin is longer than the time in which a process has to answer after a
// Stop: the answer has the state of what was made, and is kept by the same call of the handler.
const (
	defaultLimit = 30 * time.Minute // longer than that of providers, which is 20 minutes
	answerMargin = time.Minute
	longestLimit = 24 * time.Hour
)

// timeLimit returns the limit of calls to the provider: the longest of the attribute timeouts with a
// margin, if the resource has one. Values may be references.
func timeLimit(attributes map[string]any) time.Duration {
	var limit time.Duration
	block := attributes["timeouts"]
	if list, is := block.([]any); is && len(list) == 1 {
		block = list[0]
	}
	timeouts, _ := block.(map[string]any)
	for _, v := range timeouts {
		text, _ := v.(string)
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			limit = max(limit, min(d, longestLimit)+answerMargin)
		}
	}
	if limit == 0 {
		return defaultLimit
	}
	return limit
}

// CallTimeout implements provider.Timeouter.
func (h *handler) CallTimeout(r provider.Resource) time.Duration {
	return timeLimit(r.Attributes) + answerMargin
}

// maxScalar bounds the texts that are reported as facts without a request, in bytes.
const maxScalar = 1 << 10

// facts returns those attributes of an object that may be facts, by their names here. Attributes with
// sensitive parts, and those whose configured value has a secret, are left out. The facts have id also
// under the provider's name.
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

// FindCreated implements provider.Finder. A create removes or sets aside any former state first, so a
// state without the token was there before the create, which has then made nothing. Without a state,
// the object is looked up by the attribute import, or by the identity if the configuration has it.
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
		return false, provider.With(provider.Errorf(provider.Terminal, "no state was kept of it, and its "+
			"identifier does not follow from the configuration; set the attribute %s if it exists",
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

// witnessed adds the versions of write-only attributes: a provider acts on x_wo_version only, so another
// value of x_wo alone changes nothing. A version that is left out is a number made of what the document
// says: of a secret, its name and version, never its value.
func (s *session) witnessed(attributes map[string]any) map[string]any {
	stored := s.ctx.Stored()
	if stored == nil {
		return attributes
	}
	for name, v := range s.meta.configured(stored.Attributes) {
		version := name + "_version"
		if v == nil || attributes[name] == nil || attributes[version] != nil ||
			!s.ty.IsWriteOnly(name) {
			continue
		}
		n, err := witness(v)
		if err != nil || !s.ty.Cty().HasAttribute(version) {
			continue
		}
		switch s.ty.Cty().AttributeType(version) {
		case cty.Number:
			attributes[version] = n
		case cty.String:
			attributes[version] = strconv.FormatInt(n, 10)
		}
	}
	return attributes
}

// witness returns a positive number of 31 bits, which fits the integers of all SDKs.
func witness(stored any) (int64, error) {
	text, err := resource.CanonicalValue(stored)
	if err != nil {
		return 0, err
	}
	sum := sha256.Sum256(text)
	return int64(binary.BigEndian.Uint32(sum[:4])&0x7fffffff) | 1, nil
}
