package fulfil_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"southbound/shared/service/inventory"
)

// ran returns the compiles in the events of an instance.
func (w *world) ran(id string) (out []inventory.Compile) {
	w.Helper()
	events, err := w.store.Events(w.Context(), env, id, 0, 100)
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range events {
		if e.Compile != nil {
			out = append(out, *e.Compile)
		}
	}
	return out
}

// TestPrinted keeps what a model prints with the event of its compile, successful or not, without
// the passwords and environment variables that the model has read. Instances of one compile share
// the bound.
func TestPrinted(t *testing.T) { // not parallel: it sets an environment variable
	t.Setenv("SOUTHBOUND_TEST_READ", "read-from-the-environment")
	w := newWorld(t, strings.Replace(site, "    port = lsm::", `    std::print("site {{ self.host_name }}")
    std::print(std::generate_password(self.host_name))
    std::print(std::get_env("SOUTHBOUND_TEST_READ", within=["SOUTHBOUND_TEST_"]))
    if self.host_name == "long":
        for n in std::sequence(3000):
            std::print("\u0001 a line of a model that prints much: {{ n }}")
        end
    end
    port = lsm::`, 1))
	w.order("site", "one", map[string]any{"host_name": "first"})
	w.order("site", "two", map[string]any{"host_name": "b", "text": "wrong"})
	w.work()
	w.order("site", "three", map[string]any{"host_name": "long"})
	w.order("site", "four", map[string]any{"host_name": "c"})
	w.work()
	w.state("one", "up")
	w.state("two", "rejected")
	passwords, err := os.ReadFile(w.home.Dir + "/models/" + env + "/data/std/passwordfile.txt")
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"read-from-the-environment"}
	for line := range strings.Lines(string(passwords)) {
		if _, password, is := strings.Cut(strings.TrimSpace(line), "="); is {
			secrets = append(secrets, password)
		}
	}
	if len(secrets) < 4 {
		t.Errorf("the model has read %q", secrets)
	}
	for id, want := range map[string]string{"one": "site first", "two": "site b", "three": "site long", "four": "site c"} {
		all := w.ran(id)
		if len(all) == 0 || !strings.Contains(all[0].Output, want+"\n") || !strings.Contains(all[0].Output, "<redacted>") {
			t.Errorf("%s: no %q in %+v", id, want, all)
		}
		for _, c := range all {
			for _, s := range secrets {
				if strings.Contains(c.Output, s) {
					t.Errorf("%s: %q is in the output of its compile", id, s)
				}
			}
			if b, _ := json.Marshal(c.Output); len(b) > inventory.MaxOutput/c.Instances {
				t.Errorf("%s: %d bytes of a compile of %d instances", id, len(b), c.Instances)
			} else if cut := strings.HasSuffix(c.Output, "…"); cut && len(b) < inventory.MaxOutput/c.Instances-10 {
				t.Errorf("%s: it was cut to %d bytes of a compile of %d instances", id, len(b), c.Instances)
			}
		}
	}
	if all := w.ran("three"); !strings.HasSuffix(all[0].Output, "…") {
		t.Error("much output was not cut")
	}
}
