package fulfil_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// routers is a model with an owner, what it owns, and something else that leads to it.
const routers = `
import lsm
import lsm::fsm
import southbound
import southbound::fs

entity Router extends lsm::ServiceEntity:
    string name
end
index Router(instance_id)
entity Port extends lsm::ServiceEntity:
    string name
end
entity Note extends lsm::ServiceEntity:
    string name
end
Port.router [1] lsm::__service__ Router._ports [0:]
Note.router [1] lsm::__service__ Router

implementation router for Router:
    self.owned_resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.name }}", purged=self.purge_resources,
        content=std::json_dumps([port.name for port in std::key_sort(self._ports, "name")]),
    )
end
implementation port for Port:
    self.owned_resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.name }}", purged=self.purge_resources, content=self.router.name,
    )
end
implementation note for Note:
    ports = std::count(self.router._ports)
    self.owned_resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.name }}", purged=self.purge_resources,
        content="{{ self.router.name }} {{ ports }}",
    )
end
implement Router using parents, router
implement Port using parents, port
implement Note using parents, note

here = southbound::Agent(name="here")
router = lsm::ServiceEntityBinding(
    service_entity="__config__::Router", lifecycle=lsm::fsm::service, service_entity_name="router",
)
port = lsm::ServiceEntityBinding(
    service_entity="__config__::Port", lifecycle=lsm::fsm::service, service_entity_name="port",
    owner=router, relation_to_owner="router",
)
note = lsm::ServiceEntityBinding(
    service_entity="__config__::Note", lifecycle=lsm::fsm::service, service_entity_name="note",
)
for one in lsm::all(router):
    Router(instance_id=one["id"], entity_binding=router, **one["attributes"])
end
for one in lsm::all(port):
    Port(
        instance_id=one["id"], entity_binding=port, name=one["attributes"]["name"],
        router=Router[instance_id=one["attributes"]["router"]],
    )
end
for one in lsm::all(note):
    Note(
        instance_id=one["id"], entity_binding=note, name=one["attributes"]["name"],
        router=Router[instance_id=one["attributes"]["router"]],
    )
end
`

// TestOwners compiles and deploys what belongs to an owner together, and lets others lead to it.
func TestOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t, routers)
	w.order("router", "r", map[string]any{"name": "r"})
	w.order("router", "s", map[string]any{"name": "s"})
	w.order("port", "q", map[string]any{"name": "q", "router": "r"})
	w.work()
	w.file("r", `["q"]`)
	w.order("port", "p", map[string]any{"name": "p", "router": "r"})
	w.order("note", "n", map[string]any{"name": "n", "router": "s"})
	w.work()
	w.file("r", `["p", "q"]`)
	w.file("p", "r")
	w.file("q", "r")
	w.file("n", "s 0")
	w.file("s", "[]")
	w.remove("q")
	w.work()
	w.state("q", "terminated")
	w.file("q", "")
	for _, id := range []string{"r", "s", "p", "n"} {
		w.state(id, "up")
	}
}

// TestDefinitions holds that an instance has its definition, and the model of it, until it is
// updated.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.work()
	changed := strings.ReplaceAll(site, `text }} {{`, `text }} at {{`)
	w.offer(changed) // its definition is the same
	w.update("one", map[string]any{"text": "more"})
	w.work()
	w.file("a", "more at 8000")
	renamed := strings.ReplaceAll(changed, `{{ self.text }} at`, `{{ self.text }}{{ self.mark }}`)
	renamed = strings.ReplaceAll(renamed, `    int? port`, "    string mark = \"!\"\n    int? port")
	w.offer(renamed)
	w.order("site", "two", map[string]any{"host_name": "b"})
	old := w.read("one")
	w.remove("one") // with the definition that it has
	w.work()
	w.state("one", "terminated")
	w.file("b", "hello! 8001")
	w.order("site", "three", map[string]any{"host_name": "c"})
	w.work()
	if r := w.read("three"); r.Definition == old.Definition {
		t.Error("a changed definition is the same")
	}
}

// TestRejectedKeeps holds that an update to another definition that is rejected leaves an instance
// that can be compiled with its own.
func TestRejectedKeeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.work()
	w.offer(strings.ReplaceAll(site, `    int? port`, "    string mark = \"!\"\n    int? port"))
	w.update("one", map[string]any{"text": "wrong"})
	w.work()
	r := w.state("one", "update_rejected")
	if r.Made.Active == r.Definition {
		t.Errorf("%+v", r.Made)
	}
	w.update("one", map[string]any{"text": "right"})
	w.work()
	r = w.state("one", "up")
	if r.Active["mark"] != "!" || r.Made.Active != r.Definition {
		t.Errorf("%v: %+v", r.Active, r.Made)
	}
}

// TestForbidden holds that an update is rejected whose promotion modifiers forbid, since the model
// has come to forbid it after the candidate was given, and that the instance goes on from there.
func TestForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.work()
	fixed := "    string fixed = \"f\"\n    lsm::attribute_modifier fixed__modifier = \"rw+\"\n  " +
		"  int? port"
	free := strings.ReplaceAll(site, "    int? port", fixed)
	w.offer(free)
	w.update("one", map[string]any{"text": "again"})
	w.work()
	w.state("one", "up")
	w.update("one", map[string]any{"fixed": "g", "text": "wrong"})
	w.work()
	w.state("one", "update_rejected")
	w.offer(strings.ReplaceAll(free, `fixed__modifier = "rw+"`, `fixed__modifier = "rw"`))
	w.update("one", map[string]any{"text": "right"})
	w.work()
	r := w.state("one", "update_rejected")
	if !strings.Contains(string(r.Problems), inventory.CodeModifier) || r.Active["fixed"] != "f" {
		t.Errorf("%v: %s", r.Active, r.Problems)
	}
	w.file("a", "again 8000")
}

// TestFails leads an instance to failed when a resource fails, and back when it is well again.
func TestFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	dir := filepath.Join(w.srv, "x")
	if err := os.WriteFile(dir, []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	worker := w.running()
	w.order("site", "one", map[string]any{"host_name": "x/y"})
	w.rounds(worker)
	r := w.state("one", "failed")
	if r.Outcome != lifecycle.Failed {
		t.Error(r.Outcome)
	}
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Deploy(t.Context(), env, deploy.Request{RetryFailed: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.runner.Drain(t.Context(), env, nil); err != nil {
		t.Fatal(err)
	}
	w.rounds(w.running()) // another one, which looks at once
	w.state("one", "up")
	w.file("x/y", "hello 8000")
}

// TestNotExported holds that an instance whose resources could not be removed, since the model does
// not compile for that, does not end because those that it has are well.
func TestNotExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.ReplaceAll(site, `if self.text == "wrong":`,
		`if self.text == "wrong" or self.text == "stay" and self.purge_resources:`))
	w.order("site", "one", map[string]any{"host_name": "a", "text": "stay"})
	w.work()
	w.state("one", "up")
	w.remove("one")
	w.work()
	w.state("one", "deleting_failed")
	w.rounds(w.running()) // it looks at all resources at once
	w.state("one", "deleting_failed")
	w.file("a", "stay 8000")
}

// TestWhole holds that an export of a whole model leaves what instances have.
func TestWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.work()
	path := filepath.Join(w.srv, "other")
	other := func(p string) resource.Resource {
		return resource.Resource{
			ID:   resource.NewID("fs::File", "here", resource.Key{Name: "path", Value: p}),
			Type: "fs::File", Agent: "here",
			Attributes: map[string]any{"path": p, "content": "other"},
			Flags:      resource.Flags{PurgeOnDelete: true},
		}
	}
	top := other(filepath.Join(w.srv, "top"))
	top.Attributes["content"] = "changed"
	export := func(all ...resource.Resource) error {
		_, err := w.engine.Export(t.Context(), env,
			deploy.Export{Model: &model.Model{Resources: all}})
		return err
	}
	if err := export(other(path), top); err != nil {
		t.Fatal(err)
	}
	w.work()
	if _, err := w.runner.Drain(t.Context(), env, nil); err != nil {
		t.Fatal(err)
	}
	w.file("a", "hello 8000")
	w.file("other", "other")
	w.file("top", "changed")
	if err := export(other(path)); err == nil || !strings.Contains(err.Error(), "requires") {
		t.Errorf("what an instance requires can leave: %v", err)
	}
	if err := export(top, other(filepath.Join(w.srv, "a"))); err == nil ||
		!strings.Contains(err.Error(), "which this export does not replace") {
		t.Errorf("what an instance has can be taken: %v", err)
	}
	w.remove("one")
	w.work()
	w.state("one", "terminated")
	w.file("a", "")
}

// TestSharedIsOthers holds that an order whose model describes anew what is in no set is rejected, in
// words for whoever orders, and that a delete goes on.
func TestSharedIsOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, follows)
	if err := os.Mkdir(filepath.Join(w.srv, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.order("site", "one", map[string]any{"name": "a"})
	w.work()
	w.offer(strings.ReplaceAll(follows, `content="top"`, `content="other"`))
	w.order("site", "two", map[string]any{"name": "b"})
	w.work()
	r := w.state("two", "rejected")
	if !strings.Contains(string(r.Problems), "`southbound apply` of the model does") {
		t.Errorf("%s", r.Problems)
	}
	w.file("dir/top", "top")
	w.remove("one")
	w.work()
	w.state("one", "terminated")
}

// TestDamagedModel holds that files of an unpacked model that are gone, or lost what they held,
// neither reject an order nor remove what is deployed, in the same worker and in the next one.
func TestDamagedModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	worker := w.running()
	w.rounds(worker)
	w.state("one", "up")
	mains, err := filepath.Glob(filepath.Join(w.home.Dir, "models", env, "*", "project", "main.cf"))
	if err != nil || len(mains) != 1 {
		t.Fatalf("%v: %v", mains, err)
	}
	if err := os.Remove(mains[0]); err != nil {
		t.Fatal(err)
	}
	w.update("one", map[string]any{"text": "gone"})
	w.rounds(worker)
	w.state("one", "up")
	w.file("a", "gone 8000")
	if err := os.Truncate(mains[0], 0); err != nil { // as when the machine has lost its power
		t.Fatal(err)
	}
	w.update("one", map[string]any{"text": "empty"})
	w.work()
	w.state("one", "up")
	w.file("a", "empty 8000")
}

// follows is a model in which sites and views show a page that belongs to neither, and a view
// follows a page of the site that it is of.
const follows = `
import lsm
import lsm::fsm
import southbound
import southbound::fs

entity Site extends lsm::ServiceEntity:
    string name
end
index Site(instance_id)
entity View extends lsm::ServiceEntity:
    string name
end
View.site [1] lsm::__service__ Site

implementation site for Site:
    self.owned_resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.name }}", purged=self.purge_resources, content="site",
    )
    self.resources += top
    self.resources += self.owned_resources
end
implementation view for View:
    self.resources += self.site.owned_resources
    self.resources += top
end
implement Site using parents, site
implement View using parents, view

here = southbound::Agent(name="here")
top = southbound::fs::File(agent=here, path="SRV/dir/top", content="top")
site = lsm::ServiceEntityBinding(
    service_entity="__config__::Site", lifecycle=lsm::fsm::service, service_entity_name="site",
)
view = lsm::ServiceEntityBinding(
    service_entity="__config__::View", lifecycle=lsm::fsm::service, service_entity_name="view",
)
for one in lsm::all(site):
    Site(instance_id=one["id"], entity_binding=site, **one["attributes"])
end
for one in lsm::all(view):
    View(
        instance_id=one["id"], entity_binding=view, name=one["attributes"]["name"],
        site=Site[instance_id=one["attributes"]["site"]],
    )
end
`

// TestFollows holds that what an instance follows decides where its lifecycle goes, also after it
// was deployed, and that a delete of the instance neither waits for it nor removes it.
func TestFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, follows)
	dir := filepath.Join(w.srv, "dir")
	if err := os.WriteFile(dir, []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	worker := w.running()
	w.order("site", "s", map[string]any{"name": "s"})
	w.order("view", "v", map[string]any{"name": "v", "site": "s"})
	w.rounds(worker)
	w.file("s", "site")
	w.state("s", "failed") // its own file is there
	if r := w.state("v", "failed"); len(r.Resources) != 0 || len(r.Follows) != 2 {
		t.Errorf("the view has %v and follows %v", r.Resources, r.Follows)
	}
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	repair := func() {
		t.Helper()
		if _, err := w.engine.Repair(t.Context(), env,
			deploy.Request{RetryFailed: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.runner.Drain(t.Context(), env, nil); err != nil {
			t.Fatal(err)
		}
		w.rounds(w.running()) // another one, which looks at once
	}
	repair()
	w.file("dir/top", "top")
	w.state("s", "up")
	w.state("v", "up")
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	repair()
	w.state("v", "failed")
	w.remove("v")
	w.rounds(worker)
	w.state("v", "terminated")
	w.file("s", "site")
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	repair()
	w.file("dir/top", "top")
	w.state("s", "up")
}
