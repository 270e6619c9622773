package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"southbound/shared/compile"
	"southbound/shared/fault"
	"southbound/shared/lang/lsm"
	"southbound/shared/schema"
	"southbound/shared/service/catalog"
	"southbound/shared/service/definition"
)

// text is the model of a simulation: sites with parts, and notes that follow the pages of sites.
// The offers differ in the placeholders in angle brackets.
const text = `
import lsm
import lsm::fsm
import lsm::allocators
import southbound
import southbound::sim

entity Site extends lsm::ServiceEntity:
    string name
    lsm::attribute_modifier name__modifier = "rw"
    string path
    lsm::attribute_modifier path__modifier = "rw+"
    string text = "hello"
    lsm::attribute_modifier text__modifier = "rw+"
    string fixed = "f"
    lsm::attribute_modifier fixed__modifier = "<FIXED>"
<MORE>
    int? port = null
    lsm::attribute_modifier port__modifier = "r"
end
index Site(instance_id)
entity Part extends lsm::ServiceEntity:
    string name
    string text = "hello"
    lsm::attribute_modifier text__modifier = "rw+"
end
entity Note extends lsm::ServiceEntity:
    string name
end
Part.site [1] lsm::__service__ Site._parts [0:]
Note.site [1] lsm::__service__ Site

implementation site for Site:
    self.owned_resources += southbound::sim::Page(
        agent=here, name="{{ self.path }}", purged=self.purge_resources, requires=top,
        text="{{ self.text }}<MARK> {{ self.fixed }} {{ port }}",
    )
    self.resources += top
    port = lsm::allocators::get_first_free_integer(self, "port", 1, 9)
    if self.text == "wrong":
        number = 1 / (self.name == "" ? 1 : 0)
    end
end
implementation part for Part:
    self.owned_resources += southbound::sim::Page(
        agent=here, name="part-{{ self.name }}", purged=self.purge_resources,
        text="{{ self.site.name }} {{ self.text }}",
    )
    if self.text == "wrong":
        number = 1 / (self.name == "" ? 1 : 0)
    end
end
implementation note for Note:
    self.owned_resources += southbound::sim::Page(
        agent=here, name="note-{{ self.name }}", purged=self.purge_resources, text=self.site.name,
    )
    self.resources += self.site.owned_resources
end
implement Site using parents, site
implement Part using parents, part
implement Note using parents, note

here = southbound::Agent(name="here")
top = southbound::sim::Page(agent=here, name="top", text="top")
site = lsm::ServiceEntityBinding(
    service_entity="__config__::Site", lifecycle=lsm::fsm::<CYCLE>, service_entity_name="site",
    service_identity="name",
)
part = lsm::ServiceEntityBinding(
    service_entity="__config__::Part", lifecycle=lsm::fsm::service, service_entity_name="part",
    owner=site, relation_to_owner="site",
)
note = lsm::ServiceEntityBinding(
    service_entity="__config__::Note", lifecycle=lsm::fsm::simple<NOTES>,
)
for one in lsm::all(site):
    Site(instance_id=one["id"], entity_binding=site, **one["attributes"])
end
for one in lsm::all(part):
    Part(
        instance_id=one["id"], entity_binding=part, name=one["attributes"]["name"],
        text=one["attributes"]["text"], site=Site[instance_id=one["attributes"]["site"]],
    )
end
for one in lsm::all(note):
    Note(
        instance_id=one["id"], entity_binding=note, name=one["attributes"]["name"],
        site=Site[instance_id=one["attributes"]["site"]],
    )
end
`

// variant holds the differences of an offer.
type variant struct {
	mark  string // appended to the text of a site: another implementation with the same definition
	more  bool   // sites have an additional attribute
	fixed string // the modifier of the attribute fixed
	cycle string // the lifecycle of sites
	notes bool   // notes are offered
}

// variants are the offers of a simulation, the initial one first.
func variants() []variant {
	return []variant{
		{fixed: "rw+", cycle: "simple", notes: true},
		{mark: "!", fixed: "rw+", cycle: "simple", notes: true},
		{more: true, fixed: "rw+", cycle: "simple", notes: true},
		{fixed: "rw", cycle: "simple", notes: true},
		{fixed: "rw+", cycle: "simple"},
		{fixed: "rw+", cycle: "simple_with_deallocation", notes: true},
		{mark: "?", fixed: "rw", cycle: "simple_with_delete_validate", notes: true},
	}
}

func (v *variant) text() string {
	more, notes := "", ", service_entity_name=\"note\""
	if v.more {
		more = "    string more = \"m\"\n    lsm::attribute_modifier more__modifier = \"rw+\""
	}
	if !v.notes { // the entity stays, but is offered under another name
		notes = ", service_entity_name=\"memo\""
	}
	return strings.NewReplacer("<MARK>", v.mark, "<MORE>", more, "<FIXED>", v.fixed,
		"<CYCLE>", v.cycle, "<NOTES>", notes).Replace(text)
}

// offer is a model with its services.
type offer struct {
	variant
	main     string // the path of the main file; "" if it is not kept
	digest   string
	services []definition.Service
	texts    map[string]string // digests of definitions, by the names of services
}

// Models are the offers of simulations. They are read-only.
type Models struct {
	offers   []offer
	byDigest map[string]*offer
	kept     map[string][]definition.Kept // by digest
	types    *schema.Registry
}

// NewModels compiles the offers of simulations in a folder.
func NewModels(ctx context.Context, dir string) (*Models, error) {
	types, err := newTypes()
	if err != nil {
		return nil, err
	}
	m := &Models{
		byDigest: map[string]*offer{}, kept: map[string][]definition.Kept{}, types: types,
	}
	for n, v := range variants() {
		o := offer{variant: v, texts: map[string]string{}}
		o.main = filepath.Join(dir, "offer"+string(rune('a'+n)), "main.cf")
		if err := os.MkdirAll(filepath.Dir(o.main), 0o700); err != nil {
			return nil, fault.Wrap(fault.Invalid, "write a model", err)
		}
		if err := os.WriteFile(o.main, []byte(v.text()), 0o600); err != nil {
			return nil, fault.Wrap(fault.Invalid, "write a model", err)
		}
		sum := sha256.Sum256([]byte(v.text()))
		o.digest = hex.EncodeToString(sum[:])
		c, err := compile.Model(ctx, compile.Options{Path: o.main, Types: types})
		if err != nil {
			return nil, err
		}
		if o.services, err = catalog.Of(c.Result); err != nil {
			return nil, err
		}
		if m.kept[o.digest], err = kept(env, o.digest, o.services); err != nil {
			return nil, err
		}
		for _, k := range m.kept[o.digest] {
			o.texts[k.Service.Name] = k.Digest
		}
		m.offers = append(m.offers, o)
	}
	for i := range m.offers {
		m.byDigest[m.offers[i].digest] = &m.offers[i]
	}
	return m, nil
}

// real compiles a model with the real compiler.
func (m *Models) real(
	ctx context.Context, digest string, s *lsm.Services,
) (*compile.Compiled, error) {
	return compile.Model(ctx, compile.Options{
		Path: m.byDigest[digest].main, Types: m.types, Services: s, Environment: env,
	})
}
