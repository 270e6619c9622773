//go:build servers

package fulfil_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// allocators is a module in Python that gives the numbers of vpns.
const allocators = `from inmanta_plugins.lsm.allocation import AllocationSpecV2, AnyUniqueInt, LSM_Allocator
from inmanta_plugins.lsm.allocation_v2.framework import ForEach

def number(attribute):
    return LSM_Allocator(attribute, AnyUniqueInt(lower=1, upper=50))

AllocationSpecV2(
    "numbers", number("number"),
    ForEach(item="up", in_list="uplink", identified_by=[], apply=[number("vlan")]),
    ForEach(item="site", in_list="sites", identified_by="name", apply=[
        number("vlan"),
        ForEach(item="port", in_list="ports", identified_by=["slot", "kind"], apply=[number("tag")]),
    ]),
)
`

// inPython returns the model vpns with allocators in Python in place of those in Go.
func inPython() string {
	head, _, _ := strings.Cut(vpns, "for one in lsm::all(binding):")
	head = strings.Replace(head, "import lsm::allocators\n", "import numbers_\n", 1)
	head = strings.Replace(head, "service_entity_name=\"vpn\",",
		"service_entity_name=\"vpn\", allocation_spec=\"numbers\",", 1)
	return head + `for one in lsm::all(binding):
    its = one["attributes"]
    std::assert(its["note"] != "bad", "this is bad")
    vpn = Vpn(
        instance_id=one["id"], entity_binding=binding, name=its["name"], note=its["note"],
        number=its["number"],
    )
    if its["uplink"] != null:
        Uplink(_vpn=vpn, **its["uplink"])
    end
    for site in its["sites"]:
        here = Site(_vpn=vpn, name=site["name"], vlan=site["vlan"])
        for port in site["ports"]:
            Port(_site=here, **port)
        end
    end
end
`
}

// TestAllocationsInPython holds of allocators in Python what TestAllocations holds of those in Go.
func TestAllocationsInPython(t *testing.T) {
	t.Parallel()
	venv, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module := filepath.Join(dir, "libs", "numbers_")
	err = errors.Join(
		os.MkdirAll(filepath.Join(module, "model"), 0o700),
		os.MkdirAll(filepath.Join(module, "plugins"), 0o700),
		os.Symlink(venv, filepath.Join(dir, ".env")),
		os.WriteFile(filepath.Join(dir, "project.yml"), []byte("name: p\nmodulepath: [libs]\n"), 0o600),
		os.WriteFile(filepath.Join(module, "module.yml"),
			[]byte("name: numbers_\nversion: 0.1\nlicense: none\n"), 0o600),
		os.WriteFile(filepath.Join(module, "model", "_init.cf"), nil, 0o600),
		os.WriteFile(filepath.Join(module, "plugins", "__init__.py"), []byte(allocators), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, srv: t.TempDir()}
	w.open(filepath.Join(t.TempDir(), "home"))
	w.offerIn(dir, inPython())
	a := &allocating{w, rand.New(rand.NewPCG(1, 1)), nil}
	const rounds = 10 // each compile starts a process
	if most := a.rounds(t, rounds); most < rounds {
		t.Errorf("the orders led to %d numbers at most: %s", most, a.read(a.ids[0]).Problems)
	}
}
