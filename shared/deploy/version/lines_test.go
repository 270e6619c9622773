package version

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// entriesOf returns entries of resources with numbers, sorted by id.
func entriesOf(t *testing.T, numbers ...int) []Entry {
	t.Helper()
	var out []resource.Resource
	for _, n := range numbers {
		out = append(out, resource.Resource{ID: resource.ID(fmt.Sprintf("t::T[a,n=%03d]", n)),
			Type: "t::T", Agent: "a", Attributes: map[string]any{"n": "x"}})
	}
	entries, err := NewEntries(out, map[string]resource.Agent{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func textOfAll(entries []Entry) []byte {
	each := make([]*Entry, len(entries))
	for i := range entries {
		each[i] = &entries[i]
	}
	return textOf(each)
}

func idsOf(entries []Entry) []resource.ID {
	var out []resource.ID
	for i := range entries {
		out = append(out, entries[i].ID)
	}
	return out
}

// TestLinesOfSet finds what is in a set, whatever its name and attributes.
func TestLinesOfSet(t *testing.T) {
	t.Parallel()
	var all []resource.Resource
	for i, set := range []string{"", "a", `a"b`, "ä\n", "a", `"set":"a"`} {
		all = append(all, resource.Resource{ID: resource.ID(fmt.Sprintf("t::T[a,n=%d]", i)),
			Type: "t::T", Agent: "a", Set: set,
			Attributes: map[string]any{"n": map[string]any{"set": "a"}}})
	}
	entries, err := NewEntries(all, map[string]resource.Agent{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := LinesOf(textOfAll(entries), "hash")
	for set, want := range map[string]int{"a": 2, `a"b`: 1, "ä\n": 1, `"set":"a"`: 1, "b": 0} {
		got, resources, err := l.OfSet(set)
		if err != nil || len(got) != want || len(resources) != want {
			t.Errorf("the set %q has %v, not %d resources: %v", set, got, want, err)
		}
	}
}

// TestLines finds entries in a chunk, and adds some.
func TestLines(t *testing.T) {
	t.Parallel()
	numbers := []int{2, 3, 5, 8, 13, 21, 34}
	for n := range len(numbers) + 1 {
		has := entriesOf(t, numbers[:n]...)
		l := LinesOf(textOfAll(has), "hash")
		for i := range 36 {
			want := slices.Contains(numbers[:n], i)
			en, err := l.Find(entriesOf(t, i)[0].ID)
			if err != nil || (en != nil) != want || want && !en.Same(&entriesOf(t, i)[0]) {
				t.Errorf("%d of %v: %v, %v", i, numbers[:n], en, err)
			}
		}
		for _, more := range [][]int{{1}, {4, 9}, {40, 6, 7}, {}} {
			got, err := l.edit(nil, entriesOf(t, more...))
			want := textOfAll(entriesOf(t, append(slices.Clone(numbers[:n]), more...)...))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v and %v: %v\n%s", numbers[:n], more, err, got)
			}
			got, err = LinesOf(got, "hash").edit(idsOf(entriesOf(t, append(more, 50)...)), nil)
			if err != nil || !bytes.Equal(got, textOfAll(has)) {
				t.Errorf("%v and %v, without these: %v\n%s", numbers[:n], more, err, got)
			}
			got, err = l.edit(idsOf(has[:n/2]), has[n/2:])
			if err != nil || !bytes.Equal(got, textOfAll(has[n/2:])) {
				t.Errorf("half of %v, written again: %v\n%s", numbers[:n], err, got)
			}
		}
	}
	l := LinesOf([]byte("what is no resource\n"), "hash")
	if _, err := l.Find("t::T[a,n=1]"); !fault.Is(err, fault.Damaged) {
		t.Errorf("a line that is no resource: %v", err)
	}
	if _, err := l.edit(nil, entriesOf(t, 1)); !fault.Is(err, fault.Damaged) {
		t.Errorf("a line that is no resource: %v", err)
	}
}
