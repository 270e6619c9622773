package fulfil_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// vpns is a model whose members get numbers: of a list, of lists in it, and of a single one. An
// instance that is named bad is refused.
const vpns = `import lsm
import lsm::fsm
import lsm::allocators

entity Vpn extends lsm::ServiceEntity:
    string name
    string note = ""
    lsm::attribute_modifier note__modifier = "rw+"
    int? number
    lsm::attribute_modifier number__modifier = "r"
end
entity Site extends lsm::EmbeddedEntity:
    string name
    int? vlan
    lsm::attribute_modifier vlan__modifier = "r"
end
entity Port extends lsm::EmbeddedEntity:
    int slot
    string kind
    int? tag
    lsm::attribute_modifier tag__modifier = "r"
end
entity Uplink extends lsm::EmbeddedEntity:
    int? vlan
    lsm::attribute_modifier vlan__modifier = "r"
end
Vpn.sites [0:] lsm::__rwplus__ Site._vpn [1]
Site.ports [0:] lsm::__rwplus__ Port._site [1]
Vpn.uplink [0:1] lsm::__rwplus__ Uplink._vpn [1]
index Site(name, _vpn)
index Port(slot, kind, _site)
implement Vpn using parents
implement Site using parents
implement Port using parents
implement Uplink using parents
binding = lsm::ServiceEntityBindingV2(
    service_entity="__config__::Vpn", lifecycle=lsm::fsm::simple, service_entity_name="vpn",
)
for one in lsm::all(binding):
    its = one["attributes"]
    std::assert(its["note"] != "bad", "this is bad")
    vpn = Vpn(
        instance_id=one["id"], entity_binding=binding, name=its["name"], note=its["note"],
        number=lsm::allocators::get_first_free_integer(vpn, "number", 1, 400),
    )
    if its["uplink"] != null:
        Uplink(_vpn=vpn, vlan=lsm::allocators::get_first_free_integer(
            vpn, "uplink.vlan", 1, 400,
            used_values=lsm::allocators::get_used_values(binding, "sites.vlan"),
        ))
    end
    for site in its["sites"]:
        at = lsm::format("sites[name={}]", [site["name"]])
        here = Site(_vpn=vpn, name=site["name"], vlan=lsm::allocators::get_first_free_integer(
            vpn, at + ".vlan", 1, 400,
        ))
        for port in site["ports"]:
            Port(
                _site=here, slot=port["slot"], kind=port["kind"],
                tag=lsm::allocators::get_first_free_integer(
                    vpn, at + lsm::format(r".ports[slot={};kind=a\;b\]].tag", [port["slot"]]), 1, 400,
                ),
            )
        end
    end
end
`

// note adds the numbers of a set. Of one member and kind it may have one, and no other has that.
func (w *given) note(t *testing.T, id string, set map[string]any) {
	t.Helper()
	w.add(t, "vpn", id, "", set["number"])
	if up, ok := set["uplink"].(map[string]any); ok {
		w.add(t, "uplink", id, "", up["vlan"])
	}
	for _, site := range members(set["sites"]) {
		name := fmt.Sprint(site["name"])
		w.add(t, "site", id, name, site["vlan"])
		for _, port := range members(site["ports"]) {
			w.add(t, "port", id, fmt.Sprint(name, " ", port["slot"], port["kind"]), port["tag"])
		}
	}
}

func members(v any) []map[string]any {
	var out []map[string]any
	list, _ := v.([]any)
	for _, item := range list {
		m, _ := item.(map[string]any)
		out = append(out, m)
	}
	return out
}

// given are numbers of one time: who has which, and who has one.
type given struct{ of, who map[string]string }

func (w *given) add(t *testing.T, kind, id, member string, v any) {
	t.Helper()
	if v == nil {
		return
	}
	who, n := kind+" "+id+" "+member, fmt.Sprint(v)
	if was := w.of[who]; was != "" && was != n {
		t.Errorf("%s has %s in one set and %s in another", who, was, n)
	}
	if other := w.who[kind+n]; other != "" && other != who {
		t.Errorf("%s was given to %s and to %s", n, other, who)
	}
	w.of[who], w.who[kind+n] = n, who
}

// allocating makes random orders of services whose members get numbers.
type allocating struct {
	*world
	*rand.Rand
	ids []string
}

func (a *allocating) sites() []any {
	out := []any{}
	for _, n := range a.Perm(4)[:a.IntN(4)] {
		ports := []any{}
		for _, slot := range a.Perm(3)[:a.IntN(3)] {
			ports = append(ports, map[string]any{"slot": slot, "kind": `a;b]`})
		}
		out = append(out, map[string]any{"name": fmt.Sprintf("s.%d", n), "ports": ports})
	}
	return out
}

func (a *allocating) uplink() any {
	if a.IntN(2) == 0 {
		return nil
	}
	return map[string]any{}
}

// ask asks something of an instance, as far as its state lets it.
func (a *allocating) ask() {
	if len(a.ids) < 2 || a.IntN(4) == 0 {
		id := fmt.Sprintf("i%d", len(a.ids))
		a.ids = append(a.ids, id)
		a.order("vpn", id, map[string]any{
			"name": id, "sites": a.sites(), "uplink": a.uplink(),
		})
		return
	}
	rec := a.read(a.ids[a.IntN(len(a.ids))])
	d := a.definition("vpn")
	var c inventory.Change
	var err error
	switch a.IntN(8) {
	case 0, 1:
		c, err = inventory.Update(d, rec, map[string]any{"note": fmt.Sprint(a.Int())},
			rec.Version, a.now())
	case 2, 3, 4:
		c, err = inventory.Update(d, rec, map[string]any{"sites": a.sites(), "note": ""},
			rec.Version, a.now())
	case 5:
		c, err = inventory.Update(d, rec, map[string]any{"note": "bad", "sites": a.sites(),
			"uplink": a.uplink()}, rec.Version, a.now())
	case 6:
		if rec.Rollback == nil || rec.State != "up" {
			return
		}
		c, err = inventory.Advance(d, rec, lifecycle.Force{Target: "rollback",
			Operation: lifecycle.RollBack, Version: rec.Version}, a.now())
	case 7:
		c, err = inventory.Advance(d, rec, lifecycle.Delete{Version: rec.Version}, a.now())
	}
	if fault.KindOf(err) == fault.Conflict {
		return // not in this state
	}
	a.write(c, err)
}

// numbers returns the numbers of all instances that are not deleted.
func (a *allocating) numbers(t *testing.T) *given {
	t.Helper()
	out := &given{map[string]string{}, map[string]string{}}
	all, err := a.store.Instances(t.Context(), env, inventory.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		for _, set := range []map[string]any{all[i].Candidate, all[i].Active, all[i].Rollback} {
			out.note(t, all[i].ID, set)
		}
	}
	return out
}

// TestAllocations pins that a number is given once, over all members of all instances and all their
// sets of attributes, and stays as long as its member is in one of these: over orders that are
// compiled together or by workers that overlap, updates, refusals, rollbacks and deletes.
func TestAllocations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			a := &allocating{newWorld(t, vpns), rand.New(rand.NewPCG(seed, 1)), nil}
			if most := a.rounds(t, 25); most < 20 {
				t.Errorf("the orders led to %d numbers at most", most)
			}
		})
	}
}

// rounds asks for something in each round, and returns how many numbers there were at most.
func (a *allocating) rounds(t *testing.T, n int) (most int) {
	t.Helper()
	before := &given{}
	for range n {
		for range 1 + a.IntN(3) {
			a.ask()
		}
		a.overlap(t)
		a.work()
		now := a.numbers(t)
		for who, n := range before.of {
			if is := now.of[who]; is != "" && is != n {
				t.Errorf("%s had %s, and now has %s", who, n, is)
			}
		}
		before, most = now, max(most, len(now.of))
	}
	return most
}

// overlap has a worker begin, and another one do what it sees while the first one compiles.
func (a *allocating) overlap(t *testing.T) {
	t.Helper()
	id := a.ids[len(a.ids)-1]
	store := &between{Store: a.store, list: func(all []inventory.Record) []inventory.Record {
		a.visit(t, a.store, a.ids)
		return all
	}}
	a.visit(t, store, []string{id})
}

func (a *allocating) visit(t *testing.T, store inventory.Store, ids []string) {
	t.Helper()
	w := a.worker(store)
	w.Alone, w.Notified = nil, true
	if _, err := w.Visit(t.Context(), ids, false, time.Time{}); err != nil &&
		fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
}
