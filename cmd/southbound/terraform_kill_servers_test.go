//go:build servers

package main_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"southbound/shared/tf/tftest"
)

const things = `southbound: 1
agents:
  store: {transport: terraform, provider: example.com/a/PROVIDER, config: {url: "URL"}}
resources:
  - {type: "TYPE", agent: store, attributes: {label: box, name: box IMPORT}}
`

// providers returns the ids of the processes of the installed provider. A process that has ended counts
// until its parent has read its state.
func (p *provided) providers() []int {
	p.Helper()
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		p.Fatal(err)
	}
	var out []int
	for _, d := range dirs {
		program, err := os.Readlink(filepath.Join("/proc", d.Name(), "exe"))
		if id, isProcess := strconv.Atoi(d.Name()); err == nil && isProcess == nil &&
			strings.HasPrefix(program, filepath.Dir(p.dir)+string(filepath.Separator)) {
			out = append(out, id)
		}
	}
	return out
}

// killed applies the project, kills a process at a request that hangs, and returns the output. The
// processes of the provider end with the program.
func (p *provided) killed(store *tftest.Store, request int, victim func(program int) int) string {
	p.Helper()
	store.Requests()
	store.At(request, tftest.Hang)
	var out bytes.Buffer
	cmd := p.command("apply", "site.yaml")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	select {
	case <-store.Hanging():
	case <-p.Context().Done():
		p.Fatal(&out)
	}
	if err := syscall.Kill(victim(cmd.Process.Pid), syscall.SIGKILL); err != nil {
		p.Error(err)
	}
	_ = cmd.Wait() // its code is part of the output
	for len(p.providers()) > 0 && p.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	return out.String()
}

// TestKilledCreate kills the program or the provider in the middle of a create, when the object exists
// and its state was not kept. Then a person is asked, nothing is created again, and the object is
// adopted by the attribute import. If the object no longer exists, a person has it created.
func TestKilledCreate(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, typ, program string }{
		{"fw", "tf::fw::Thing", tftest.Framework(t)},
		{"sdk", "tf::sdk::Server", tftest.SDK(t)},
	} {
		for _, request := range []int{1, 2} { // the create, and the one after it
			for _, kills := range []string{"program", "provider"} {
				lost := kills == "provider" && request == 2
				t.Run(x.name+" "+kills+" "+strconv.Itoa(request), func(t *testing.T) {
					t.Parallel()
					killedCreate(t, x.name, x.typ, x.program, request, kills, lost)
				})
			}
		}
	}
}

func killedCreate(t *testing.T, name, typ, program string, request int, kills string, lost bool) {
	store := &tftest.Store{}
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	p := newProvided(t, name, program)
	site := func(more string) {
		p.write("site.yaml", strings.NewReplacer("PROVIDER", name, "URL", server.URL, "TYPE", typ, " IMPORT", more).
			Replace(things))
	}
	site("")
	p.prints(0, "provider add example.com/a/"+name+" --from "+p.mirror, `^added`)
	out := p.killed(store, request, func(program int) int {
		all := p.providers()
		if len(all) != 1 {
			t.Fatalf("processes of the provider: %v", all)
		}
		if kills == "provider" {
			return all[0]
		}
		return program
	})
	made := store.IDs()
	if len(made) != 1 {
		t.Fatalf("the store has %v: %s", made, out)
	}
	p.prints(3, "deploy --retry-failed", `its state was not stored`, `set the attribute import if it exists`, `1 blocked`)
	p.prints(3, "apply site.yaml", `1 blocked`)
	if got := store.IDs(); len(got) != 1 || got[0] != made[0] {
		t.Fatalf("the store has %v instead of %v", got, made)
	}
	if lost {
		store.Forget(made[0])
		p.prints(0, "deploy --retry-failed "+typ+"[store,label=box]", `^created`)
		made = store.IDs()
	} else {
		site(`, import: ` + made[0])
	}
	p.prints(0, "apply site.yaml", `1 deployed`)
	p.prints(0, "plan --read site.yaml", `nothing to do`)
	if got := store.IDs(); len(got) != 1 || got[0] != made[0] {
		t.Errorf("the store has %v instead of %v", got, made)
	}
}
