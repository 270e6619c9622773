package deploy

import (
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// FuzzParseFilter: any words are a filter or an error, and what is a filter matches without trouble.
func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"", "type=fs::File", "status=failed", "status=odd", "fs::File[web1,path=/etc/*]", "set=", "a=b=c", "*?*", "agent=[x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, term string) {
		filter, err := state.ParseFilter([]string{term})
		if err != nil {
			return
		}
		row := state.Row{ID: resource.ID(term), Body: []byte("{}")}
		filter.Match(&row)
		if filter.ID != "" && !filter.Match(&row) {
			t.Errorf("%q does not match itself", term)
		}
	})
}

// FuzzDecodeGraph: damaged bytes are an error, and what decodes encodes to the same graph again.
func FuzzDecodeGraph(f *testing.F) {
	f.Add(buildGraph([]graphNode{{ID: "a", Lane: "x/0"}, {ID: "b", Lane: "y/0", Requires: []resource.ID{"a"}}}).encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, stored []byte) {
		g, err := decodeGraph(stored)
		if err != nil {
			return
		}
		again, err := decodeGraph(g.encode())
		if err != nil || len(again.IDs) != len(g.IDs) {
			t.Errorf("encoded again: %v", err)
		}
	})
}
