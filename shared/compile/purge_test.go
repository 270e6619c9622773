package compile_test

import (
	"fmt"
	"testing"

	"southbound/shared/lang/lsm"
	"southbound/shared/resource"
)

// TestPurgedInstance holds which resources are purged with an instance, whatever its implementation
// mentions: all that it owns, of its own types and of mappings, but those that are only reported, are
// not managed, or are not its own.
func TestPurgedInstance(t *testing.T) {
	t.Parallel()
	types := registry(t)
	const text = oneHost + `import lsm
import lsm::fsm
entity Site extends lsm::ServiceEntity:
    string name
end
implementation page for Site:
    self.owned_resources += shop::Page(host=host, path="/{{ self.name }}", text="x")
    self.owned_resources += southbound::std::Null(agent=agent, name=self.name)
    self.owned_resources += southbound::std::Null(agent=agent, name="{{ self.name }}-said", purged=false)
    self.owned_resources += southbound::std::Null(
        agent=agent, name="{{ self.name }}-reported", report_only=true,
    )
    self.owned_resources += southbound::std::Null(
        agent=agent, name="{{ self.name }}-kept", managed=not self.purge_resources,
    )
    self.resources += southbound::std::Null(agent=agent, name="{{ self.name }}-shared")
end
implement Site using parents, page
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Site", lifecycle=lsm::fsm::simple, service_entity_name="site",
)
for one in lsm::all(binding):
    Site(instance_id=one["id"], entity_binding=binding, name=one["attributes"]["name"])
end
`
	c, err := mapped(t, types, shop, text, lsm.NewServices([]lsm.Instance{
		{ID: "i1", Service: "site", State: "up", Attributes: map[string]any{"name": "stays"}},
		{ID: "i2", Service: "site", State: "deleting", Purge: true,
			Attributes: map[string]any{"name": "goes"}},
	}), pageMappings()...)
	if err != nil {
		t.Fatal(err)
	}
	_, got := deployable(t, types, c)
	for _, name := range []string{"stays", "goes"} {
		goes := name == "goes"
		for id, purged := range map[string]bool{
			"fs::File[web1,path=/%s]":          goes,
			"std::Null[web1,name=%s]":          goes,
			"std::Null[web1,name=%s-said]":     goes,
			"std::Null[web1,name=%s-reported]": false,
			"std::Null[web1,name=%s-shared]":   false,
		} {
			r, is := got[resource.ID(fmt.Sprintf(id, name))]
			if !is || r.Purged != purged {
				t.Errorf(id+": there is %v, purged is %v", name, is, r.Purged)
			}
		}
		kept := resource.ID(fmt.Sprintf("std::Null[web1,name=%s-kept]", name))
		if _, is := got[kept]; is == goes {
			t.Errorf("%s: there is %v", kept, is)
		}
	}
}
