//go:build servers

package main_test

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"southbound/shared/tf/tftest"
)

const changedThings = `southbound: 1
agents:
  store: {transport: terraform, provider: example.com/a/PROVIDER, config: {url: "URL"}}
resources:
  - {type: "TYPE", agent: store, attributes: {label: box, ATTRIBUTES}FLAGS}
MORE`

// killedChange is a change of an object, during which the program is killed at each of its requests.
type killedChange struct {
	name, provider, typ string
	before, after       string // attributes
	flags, more         string // of the resource, and further resources, at the change
	requests            int
	left                int // documents afterwards
}

// TestKilledAtEachRequest kills the program at each request of a change, after the store has executed
// it. The next apply converges: no object is made twice, and none is lost. If an object may have been
// made whose state was not kept, a person names it by the attribute import.
func TestKilledAtEachRequest(t *testing.T) {
	t.Parallel()
	const thing, server = "tf::fw::Thing", "tf::sdk::Server"
	for _, x := range []killedChange{
		{"update", "fw", thing, "name: box, note: a", "name: box, note: b", "", "", 2, 1},
		{"partial update", "sdk", server, "name: box, labels: [a]", "name: box, labels: [b]", "", "", 3, 1},
		{"purge", "fw", thing, "name: box", "name: box", ", purged: true", "", 2, 0},
		{"replacement", "fw", thing, "name: box", "name: crate", "", "", 4, 1},
		{"create before destroy", "fw", thing, "name: box, create_before_destroy: true",
			"name: crate, create_before_destroy: true", "", "", 4, 1},
		// The states of both are kept, and the results of the first are not always committed yet.
		{"two objects", "fw", thing, "", "name: box", "",
			"  - {type: \"TYPE\", agent: store, attributes: {label: lid, name: lidIMPORT}}\n", 4, 2},
	} {
		program := tftest.Framework(t)
		if x.provider == "sdk" {
			program = tftest.SDK(t)
		}
		for request := 1; request <= x.requests; request++ {
			t.Run(x.name+" "+strconv.Itoa(request), func(t *testing.T) {
				t.Parallel()
				x.killedAt(t, program, request)
			})
		}
	}
}

func (x killedChange) killedAt(t *testing.T, program string, request int) {
	store := &tftest.Store{}
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	p := newProvided(t, x.provider, program)
	site := func(attributes, flags, more, lid string) {
		p.write("site.yaml", strings.NewReplacer("PROVIDER", x.provider, "URL", server.URL, "ATTRIBUTES", attributes,
			"FLAGS", flags, "MORE", strings.NewReplacer("TYPE", x.typ, "IMPORT", lid).Replace(more),
			"TYPE", x.typ).Replace(changedThings))
	}
	p.prints(0, "provider add example.com/a/"+x.provider+" --from "+p.mirror, `^added`)
	old := ""
	if x.before != "" {
		site(x.before, "", "", "")
		p.prints(0, "apply site.yaml", `1 deployed`)
		old = store.IDs()[0]
	}
	site(x.after, x.flags, x.more, "")
	p.killed(store, request, func(program int) int { return program })
	cmd := p.command("deploy", "--retry-failed")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code == 3 && strings.Contains(string(out), "1 blocked") {
		imports := map[string]string{}
		for _, id := range store.IDs() {
			if id != old {
				store.Change(id, func(d map[string]any) { imports[d["name"].(string)] = ", import: " + id })
			}
		}
		name := "box"
		if strings.Contains(x.after, "crate") {
			name = "crate"
		}
		if len(imports) == 0 {
			t.Fatalf("nothing was made, and it is blocked: %s", out)
		}
		site(x.after+imports[name], x.flags, x.more, imports["lid"])
		p.prints(0, "apply site.yaml", `deployed`)
	} else if code != 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	p.prints(0, "apply site.yaml", ` 0 changed|^0 changed`)
	p.prints(0, "plan --read site.yaml", `nothing to do`)
	if got := store.IDs(); len(got) != x.left {
		t.Errorf("the store has %v, want %d documents", got, x.left)
	}
}
