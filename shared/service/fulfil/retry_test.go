package fulfil_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/resource"
)

// folders is a model in which one resource of an instance fails for what is in its place, or in it.
const folders = `
import lsm
import lsm::fsm
import southbound
import southbound::fs

entity Folder extends lsm::ServiceEntity:
    string name
    string text = "hello"
    lsm::attribute_modifier text__modifier = "rw+"
end
implementation folder for Folder:
    dir = southbound::fs::Directory(
        agent=here, path="SRV/{{ self.name }}", purged=self.purge_resources
    )
    self.owned_resources += dir
    self.owned_resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.name }}/text", content=self.text, purged=self.purge_resources,
        requires=dir,
    )
    self.owned_resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.name }}/name", content=self.name, purged=self.purge_resources,
        requires=dir,
    )
end
implement Folder using parents, folder

here = southbound::Agent(name="here")
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Folder", lifecycle=lsm::fsm::simple, service_entity_name="folder",
)
for one in lsm::all(binding):
    Folder(instance_id=one["id"], entity_binding=binding, **one["attributes"])
end
`

// TestAskedAgain holds that who asks something of an instance has those of its resources tried
// again that failed, also if these are as before: what was in the way may be gone.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, folders)
	inWay := filepath.Join(w.srv, "f", "name")
	if err := os.MkdirAll(inWay, 0o700); err != nil {
		t.Fatal(err)
	}
	w.order("folder", "f", map[string]any{"name": "f"})
	w.order("folder", "g", map[string]any{"name": "g"})
	w.work()
	w.state("f", "failed")
	w.state("g", "up")
	if err := os.Remove(inWay); err != nil {
		t.Fatal(err)
	}
	w.update("g", map[string]any{"text": "more"})
	w.work()
	w.state("g", "up")
	w.state("f", "failed") // nobody has asked anything of it
	w.update("f", map[string]any{"text": "more"})
	w.work()
	w.state("f", "up")
	w.file("f/name", "f")
	w.file("f/text", "more")
	stray := filepath.Join(w.srv, "f", "stray")
	if err := os.WriteFile(stray, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.remove("f")
	w.work()
	w.state("f", "deleting_failed")
	if err := os.Remove(stray); err != nil {
		t.Fatal(err)
	}
	w.remove("f")
	w.work()
	w.state("f", "terminated")
	if _, err := os.Stat(filepath.Dir(stray)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

// TestStoredOnly holds that orders are made beside what is in force: a version that was stored and
// not released neither has them rejected, nor do they release it.
func TestStoredOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	top := resource.Resource{
		ID: resource.NewID("fs::File", "here",
			resource.Key{Name: "path", Value: filepath.Join(w.srv, "top")}),
		Type: "fs::File", Agent: "here",
		Attributes: map[string]any{"path": filepath.Join(w.srv, "top"), "content": "changed"},
	}
	store := func() {
		t.Helper()
		if _, err := w.engine.Export(t.Context(), env, deploy.Export{NoRelease: true,
			Model: &model.Model{Resources: []resource.Resource{top}}}); err != nil {
			t.Fatal(err)
		}
	}
	store() // before anything is released
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.work()
	w.state("one", "up")
	w.file("top", "top")
	store()
	w.order("site", "two", map[string]any{"host_name": "b"})
	w.work()
	w.state("two", "up")
	w.file("top", "top")
	w.file("a", "hello 8000")
	w.file("b", "hello 8001")
	store()
	w.remove("one")
	w.work()
	w.state("one", "terminated")
	w.file("top", "top")
	w.file("b", "hello 8001")
	w.nothingLeft()
}
