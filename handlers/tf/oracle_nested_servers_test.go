//go:build servers

package tf

// oracleNested are rows of each way of nesting, of version 6 and version 5.
func oracleNested() []oracleRow {
	const crate, net = "fw_crate", "sdk_net"
	member := func(key string, more ...any) object {
		out := object{"key": key}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	var rows []oracleRow
	for _, x := range []struct {
		name string
		wrap func(members ...object) any
		in   func(v any, key string) object // the member with a key in a document
		set  bool
		has  bool // a value with a default
	}{
		{"listed", list, memberOf, false, true}, {"some", list, memberOf, true, true},
		{"keyed", keyed, memberOf, false, true}, {"step", list, memberOf, false, false},
		{"port", list, memberOf, true, false},
	} {
		of := func(members ...object) object { return object{x.name: x.wrap(members...)} }
		replaced := "delete create"
		switch {
		case x.name == "keyed":
			replaced += " keyed/a/kind"
		case x.set:
			replaced += " " + x.name
		default:
			replaced += " " + x.name + "/0/kind"
		}
		rows = append(rows,
			oracleRow{reason: x.name + ": nothing changes", typ: crate, want: "no-op",
				config: of(member("a"), member("b", "kind", "k"))},
			oracleRow{reason: x.name + ": another order", typ: crate, want: map[bool]string{true: "no-op",
				false: "update"}[x.set || x.name == "keyed"], config: of(member("a"), member("b")),
				changed: of(member("b"), member("a"))},
			oracleRow{reason: x.name + ": a member is added", typ: crate, want: "update", config: of(member("a")),
				changed: of(member("a"), member("b"))},
			oracleRow{reason: x.name + ": a member is removed", typ: crate, want: "update",
				config: of(member("a"), member("b")), changed: of(member("b"))},
			oracleRow{reason: x.name + ": all members are removed", typ: crate, want: "update",
				config: of(member("a")), changed: object{}},
			oracleRow{reason: x.name + ": a member that replaces", typ: crate, want: replaced,
				config: of(member("a", "kind", "k")), changed: of(member("a", "kind", "l"))},
			oracleRow{reason: x.name + ": a member drifts", typ: crate, want: "update", config: of(member("a")),
				world: func(d object) { x.in(d[x.name], "a")["key"] = "drift" }},
			oracleRow{reason: x.name + ": a computed member drifts", typ: crate, want: "no-op", config: of(member("a")),
				world: func(d object) { x.in(d[x.name], "a")["no"] = 9 }},
		)
		if x.has {
			rows = append(rows, oracleRow{reason: x.name + ": a default drifts", typ: crate, want: "update",
				config: of(member("a")), world: func(d object) { x.in(d[x.name], "a")["value"] = "drift" }})
		}
	}
	subnet := func(zone string, routes ...object) object {
		out := object{"zone": zone, "ports": []any{int64(2), int64(1)}}
		if len(routes) > 0 {
			out["route"] = list(routes...)
		}
		return out
	}
	to := func(to string) object { return object{"to": to} }
	return append(rows,
		oracleRow{reason: "one: a member is changed", typ: crate, want: "update", config: object{"one": member("a")},
			changed: object{"one": member("b")}},
		oracleRow{reason: "one: removed", typ: crate, want: "update", config: object{"one": member("a")}, changed: object{}},
		oracleRow{reason: "one: a member that replaces", typ: crate, want: "delete create one/kind",
			config: object{"one": member("a", "kind", "k")}, changed: object{"one": member("a")}},
		oracleRow{reason: "option: a single block is added", typ: crate, want: "update", config: object{},
			changed: object{"option": object{"key": "x"}}},
		oracleRow{reason: "option: a single block without attributes", typ: crate, want: "update", config: object{},
			changed: object{"option": object{}}},
		oracleRow{reason: "a default is removed from the configuration", typ: crate, want: "update",
			config: object{"text": "x"}, changed: object{}},
		oracleRow{reason: "an object of version 6 is gone", typ: crate, want: "create", config: object{}, forget: true},
		oracleRow{reason: "net: its provider plans an update for ever", typ: net, want: "update",
			config: object{"upper": "text"}},
		oracleRow{reason: "net: nothing changes", typ: net, want: "no-op", config: object{"tags": object{"a": "b"},
			"open": true, "subnet": list(subnet("a", to("x"), to("y")), subnet("b"))}},
		oracleRow{reason: "net: an attribute of a function of states", typ: net, want: "update",
			config: object{"upper": "a"}, changed: object{"upper": "b"}},
		oracleRow{reason: "net: the same by a function of states", typ: net, want: "update",
			config: object{"upper": "a"}, changed: object{"upper": "A"}},
		oracleRow{reason: "net: it grows in place", typ: net, want: "update", config: object{},
			changed: object{"size": int64(16)}},
		oracleRow{reason: "net: it shrinks by a replacement", typ: net, want: "delete create size", config: object{},
			changed: object{"size": int64(4)}},
		oracleRow{reason: "net: ForceNew in a block", typ: net, want: "delete create subnet/0/zone",
			config: object{"subnet": list(subnet("a"))}, changed: object{"subnet": list(subnet("b"))}},
		oracleRow{reason: "net: a block with ForceNew is removed", typ: net, want: "delete create subnet/0/zone",
			config: object{"subnet": list(subnet("a"))}, changed: object{}},
		oracleRow{reason: "net: a computed ForceNew attribute is left out", typ: net, want: "no-op",
			config: object{"cidr": "10.1.0.0/16"}, changed: object{}},
		oracleRow{reason: "net: a computed ForceNew attribute is set", typ: net, want: "delete create cidr",
			config: object{}, changed: object{"cidr": "10.1.0.0/16"}},
		oracleRow{reason: "net: a set in a list, computed member", typ: net, want: "update",
			config: object{"subnet": list(subnet("a", to("x")))}, changed: object{"subnet": list(subnet("a", to("x"), to("y")))}},
		oracleRow{reason: "net: a set in a list in another order", typ: net, want: "no-op",
			config:  object{"subnet": list(subnet("a", to("x"), to("y")))},
			changed: object{"subnet": list(subnet("a", to("y"), to("x")))}},
		oracleRow{reason: "net: attributes as blocks", typ: net, want: "update", config: object{"rule": list(object{"port": int64(1)})},
			changed: object{"rule": list(object{"port": int64(2)})}},
		oracleRow{reason: "net: attributes as blocks are left out", typ: net, want: "no-op",
			config: object{"rule": list(object{"port": int64(1)})}, changed: object{}},
		oracleRow{reason: "net: a zero value is set", typ: net, want: "no-op", config: object{}, changed: object{"open": false}},
		oracleRow{reason: "net: a map drifts", typ: net, want: "update", config: object{"tags": object{"a": "b"}},
			world: func(d object) { d["tags"] = object{} }},
	)
}

// list returns objects as a list.
func list(members ...object) any {
	out := []any{}
	for _, m := range members {
		out = append(out, m)
	}
	return out
}

// keyed returns objects as a map by their keys.
func keyed(members ...object) any {
	out := object{}
	for _, m := range members {
		out[m["key"].(string)] = m
	}
	return out
}

// memberOf returns the member with a key in a list or map of a document.
func memberOf(v any, key string) object {
	if m, is := v.(object); is {
		return m[key].(object)
	}
	for _, e := range v.([]any) {
		if e := e.(object); e["key"] == key {
			return e
		}
	}
	return nil
}
