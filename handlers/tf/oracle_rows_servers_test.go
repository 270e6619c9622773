//go:build servers

package tf

import "southbound/shared/tf/tftest"

type object = map[string]any

// oracleRows are rows in which no request fails.
func oracleRows() []oracleRow {
	parts := func(names ...string) []any {
		var out []any
		for _, n := range names {
			out = append(out, object{"name": n})
		}
		return out
	}
	rules := func(ports ...int) []any {
		var out []any
		for _, p := range ports {
			out = append(out, object{"port": int64(p)})
		}
		return out
	}
	const thing, server = "fw_thing", "sdk_server"
	return []oracleRow{
		{reason: "nothing changes", typ: thing, want: "no-op", config: object{"parts": parts("a", "b"),
			"tags": object{"k": "v"}, "size": int64(3), "note": "n", "any": []any{"a", int64(1)}}},
		{reason: "nothing changes, blocks", typ: server, want: "no-op", config: object{"rule": rules(80, 443),
			"labels": []any{"x", "y"}, "network": object{"cidr": "10.0.0.0/8"}}},
		{reason: "an attribute is changed", typ: thing, want: "update", config: object{"note": "a"},
			changed: object{"note": "b"}},
		{reason: "an attribute is removed", typ: thing, want: "update", config: object{"note": "a"},
			changed: object{}},
		{reason: "an optional and computed attribute is removed", typ: thing, want: "no-op",
			config: object{"size": int64(4)}, changed: object{}},
		{reason: "an optional and computed attribute drifts, not configured", typ: thing, want: "no-op",
			config: object{}, world: func(d object) { d["size"] = 9 }},
		{reason: "an optional and computed attribute drifts, configured", typ: thing, want: "update",
			config: object{"size": int64(4)}, world: func(d object) { d["size"] = 9 }},
		{reason: "an attribute drifts", typ: thing, want: "update", config: object{"note": "a"},
			world: func(d object) { d["note"] = "drift" }},
		{reason: "a map drifts", typ: thing, want: "update", config: object{"tags": object{"a": "b"}},
			world: func(d object) { d["tags"] = object{"a": "b", "c": "d"} }},
		{reason: "an empty map appears", typ: thing, want: "update", config: object{}, changed: object{"tags": object{}}},
		{reason: "a map that is not configured drifts", typ: thing, want: "update", config: object{},
			world: func(d object) { d["tags"] = object{"c": "d"} }},
		{reason: "the object is gone", typ: thing, want: "create", config: object{"note": "a"}, forget: true},
		{reason: "the object is gone, and no longer wanted", typ: thing, want: "", config: object{}, forget: true,
			gone: true},
		{reason: "the object is no longer wanted", typ: thing, want: "delete", config: object{"note": "a"}, gone: true},
		{reason: "a server is no longer wanted", typ: server, want: "delete", config: object{"rule": rules(80)}, gone: true},
		{reason: "a name that replaces", typ: thing, want: "delete create name", config: object{"note": "a"},
			changed: object{"name": "crate", "note": "a"}},
		{reason: "a name that drifts and replaces", typ: thing, want: "delete create name", config: object{"note": "a"},
			world: func(d object) { d["name"] = "drift" }},
		{reason: "create before destroy", typ: thing, want: "create delete name", first: true, config: object{},
			changed: object{"name": "crate"}},
		{reason: "ForceNew", typ: server, want: "delete create zone", config: object{"rule": rules(80)},
			changed: object{"rule": rules(80), "zone": "b"}},
		{reason: "ForceNew by drift", typ: server, want: "delete create zone", config: object{},
			world: func(d object) { d["zone"] = "c" }},
		{reason: "ForceNew, create before destroy", typ: server, want: "create delete zone", first: true,
			config: object{"zone": "x"}, changed: object{}},
		{reason: "a difference that is suppressed", typ: server, want: "no-op", config: object{"name": "Web"},
			changed: object{"name": "wEB"}},
		{reason: "a difference that is suppressed, beside another", typ: server, want: "update",
			config: object{"name": "Other"}, changed: object{"name": "OTHER", "labels": []any{"x"}}},
		{reason: "a set in another order", typ: server, want: "no-op", config: object{"labels": []any{"x", "y"}},
			changed: object{"labels": []any{"y", "x"}}, world: func(d object) { d["labels"] = []any{"y", "x"} }},
		{reason: "a member of a set drifts", typ: server, want: "update", config: object{"labels": []any{"x", "y"}},
			world: func(d object) { d["labels"] = []any{"x", "z"} }},
		{reason: "a set of blocks in another order", typ: server, want: "no-op", config: object{"rule": rules(80, 443)},
			changed: object{"rule": rules(443, 80)}},
		{reason: "a set of blocks is reordered in the world", typ: server, want: "no-op",
			config: object{"rule": rules(80, 443)}, world: func(d object) {
				r := d["rules"].([]any)
				d["rules"] = []any{r[1], r[0]}
			}},
		{reason: "a block is added to a set with computed members", typ: server, want: "update",
			config: object{"rule": rules(80)}, changed: object{"rule": rules(80, 443)}},
		{reason: "a block is removed from a set with computed members", typ: server, want: "update",
			config: object{"rule": rules(80, 443)}, changed: object{"rule": rules(443)}},
		{reason: "a block of a set is gone in the world", typ: server, want: "update",
			config: object{"rule": rules(80, 443)}, world: func(d object) { d["rules"] = d["rules"].([]any)[:1] }},
		{reason: "a computed member of a set changes", typ: server, want: "no-op", config: object{"rule": rules(80)},
			world: func(d object) { d["rules"].([]any)[0].(object)["no"] = 7 }},
		{reason: "a list block is removed", typ: server, want: "update",
			config: object{"network": object{"cidr": "10.0.0.0/8"}}, changed: object{}},
		{reason: "a list block is gone in the world", typ: server, want: "update",
			config: object{"network": object{"cidr": "10.0.0.0/8"}}, world: func(d object) { delete(d, "network") }},
		{reason: "a list block appears in the world", typ: server, want: "update", config: object{},
			world: func(d object) { d["network"] = []any{object{"cidr": "10.0.0.0/8"}} }},
		{reason: "nested attributes: one is added", typ: thing, want: "update", config: object{"parts": parts("a")},
			changed: object{"parts": parts("a", "b")}},
		{reason: "nested attributes: the first is removed", typ: thing, want: "update",
			config: object{"parts": parts("a", "b")}, changed: object{"parts": parts("b")}},
		{reason: "nested attributes: another order", typ: thing, want: "update",
			config: object{"parts": parts("a", "b")}, changed: object{"parts": parts("b", "a")}},
		{reason: "nested attributes: a computed value drifts", typ: thing, want: "no-op",
			config: object{"parts": parts("a")}, world: func(d object) { d["parts"].([]any)[0].(object)["no"] = 7 }},
		{reason: "nested attributes: removed", typ: thing, want: "update", config: object{"parts": parts("a")},
			changed: object{}},
		{reason: "nested attributes: an empty list", typ: thing, want: "update", config: object{},
			changed: object{"parts": []any{}}},
		{reason: "nested attributes appear in the world", typ: thing, want: "update", config: object{},
			world: func(d object) { d["parts"] = []any{object{"name": "x", "no": 1}} }},
		{reason: "a sensitive value is changed", typ: thing, want: "update", config: object{"secret": "a-secret"},
			changed: object{"secret": "b-secret"}},
		{reason: "a write-only value of the same version", typ: thing, want: "no-op",
			config: object{"pin_wo": "1", "pin_wo_version": int64(1)}, changed: object{"pin_wo": "2", "pin_wo_version": int64(1)}},
		{reason: "a write-only value of another version", typ: thing, want: "update",
			config: object{"pin_wo": "1", "pin_wo_version": int64(1)}, changed: object{"pin_wo": "2", "pin_wo_version": int64(2)}},
		{reason: "a write-only value is removed", typ: thing, want: "update",
			config: object{"pin_wo": "1", "pin_wo_version": int64(1)}, changed: object{}},
		{reason: "a dynamic value of another type", typ: thing, want: "update", config: object{"any": "a"},
			changed: object{"any": []any{"a"}}},
		{reason: "a dynamic value in an object", typ: thing, want: "no-op", config: object{"any": object{"a": []any{int64(1), "b"},
			"c": true}}},
		{reason: "timeouts are added", typ: server, want: "no-op", config: object{},
			changed: object{"timeouts": object{"create": "2h"}}},
		{reason: "timeouts", typ: server, want: "no-op", config: object{"timeouts": object{"create": "2h"}}},
		{reason: "an import", typ: thing, want: "no-op", config: object{"note": "a"}, existing: object{"note": "a", "size": 1}},
		{reason: "an import that differs", typ: thing, want: "no-op", config: object{"note": "a", "tags": object{"k": "v"}},
			existing: object{"note": "b", "size": 1}},
		{reason: "an import of a server", typ: server, want: "no-op", config: object{"rule": rules(80), "labels": []any{"x"}},
			existing: object{"zone": "a", "rules": []any{object{"port": 80}}, "labels": []any{"x"}}},
		{reason: "an import that is replaced", typ: server, want: "no-op", config: object{},
			existing: object{"zone": "b"}},
		{reason: "a state of an older schema, version 5", typ: server, want: "no-op", config: object{"rule": rules(80)},
			state: func(a object) int64 {
				for name := range a {
					if name != "id" && name != "name" {
						delete(a, name)
					}
				}
				a["title"] = a["name"]
				delete(a, "name")
				return 0
			}},
		{reason: "a state of an older schema, version 6", typ: thing, want: "no-op", config: object{},
			state: func(a object) int64 {
				id, name := a["id"], a["name"]
				clear(a)
				a["id"], a["title"] = id, name
				return 1
			}},
	}
}

// oracleFaults are rows in which requests fail.
func oracleFaults() []oracleRow {
	const thing, server = "fw_thing", "sdk_server"
	var out []oracleRow
	for _, typ := range []string{thing, server} {
		out = append(out,
			oracleRow{reason: "a create that made nothing", typ: typ, want: "create",
				faults: [2]oracleFault{{"POST", tftest.Reject}}},
			oracleRow{reason: "a create whose answer is lost", typ: typ, want: "create",
				faults: [2]oracleFault{{"POST", tftest.Fail}}},
			oracleRow{reason: "a tainted object is replaced", typ: typ, want: "delete create",
				faults: [2]oracleFault{{"ready", tftest.Fail}}},
			oracleRow{reason: "a tainted object is replaced, created first", typ: typ, want: "create delete", first: true,
				faults: [2]oracleFault{{"ready", tftest.Fail}}},
			oracleRow{reason: "a tainted object is gone", typ: typ, want: "create", forget: true,
				faults: [2]oracleFault{{"ready", tftest.Fail}}},
			oracleRow{reason: "a tainted object is no longer wanted", typ: typ, want: "delete", gone: true,
				faults: [2]oracleFault{{"ready", tftest.Fail}}},
			oracleRow{reason: "a delete that fails", typ: typ, want: "delete", gone: true,
				faults: [2]oracleFault{1: {"DELETE", tftest.Reject}}},
			oracleRow{reason: "a delete whose answer is lost", typ: typ, want: "delete", gone: true,
				faults: [2]oracleFault{1: {"DELETE", tftest.Fail}}},
		)
	}
	return append(out,
		oracleRow{reason: "an update that fails", typ: thing, want: "update", config: object{"note": "a"},
			changed: object{"note": "b"}, faults: [2]oracleFault{1: {"PUT", tftest.Reject}}},
		oracleRow{reason: "an update whose answer is lost", typ: thing, want: "update", config: object{"note": "a"},
			changed: object{"note": "b"}, faults: [2]oracleFault{1: {"PUT", tftest.Fail}}},
		oracleRow{reason: "an update that fails, Partial", typ: server, want: "update", config: object{},
			changed: object{"labels": []any{"x"}}, faults: [2]oracleFault{1: {"PUT", tftest.Reject}}},
		oracleRow{reason: "an update that fails after its first request, Partial", typ: server, want: "update",
			config: object{}, changed: object{"labels": []any{"x"}}, faults: [2]oracleFault{1: {"ready", tftest.Reject}}},
		oracleRow{reason: "a replacement whose delete fails", typ: server, want: "delete create zone", config: object{},
			changed: object{"zone": "b"}, faults: [2]oracleFault{1: {"DELETE", tftest.Reject}}},
		oracleRow{reason: "a replacement whose create makes nothing", typ: server, want: "delete create zone",
			config: object{}, changed: object{"zone": "b"}, faults: [2]oracleFault{1: {"POST", tftest.Reject}}},
		oracleRow{reason: "a replacement whose create is tainted", typ: server, want: "delete create zone",
			config: object{}, changed: object{"zone": "b"}, faults: [2]oracleFault{1: {"ready", tftest.Reject}}},
		oracleRow{reason: "created first, the create makes nothing", typ: server, want: "create delete zone", first: true,
			config: object{}, changed: object{"zone": "b"}, faults: [2]oracleFault{1: {"POST", tftest.Reject}}},
		oracleRow{reason: "created first, the delete fails", typ: server, want: "create delete zone", first: true,
			config: object{}, changed: object{"zone": "b"}, faults: [2]oracleFault{1: {"DELETE", tftest.Reject}}},
		oracleRow{reason: "created first, the new object is tainted", typ: server, want: "create delete zone", first: true,
			config: object{}, changed: object{"zone": "b"}, faults: [2]oracleFault{1: {"ready", tftest.Reject}}},
	)
}
