package modtool

import (
	"strings"
	"testing"

	"southbound/shared/lang/metadata"
)

// TestSetRequires changes the list and nothing else: comments, order, and how lines end.
func TestSetRequires(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, wanted, want string }{
		{"name: x # one\n", "a >=1", "name: x # one\nrequires:\n  - a >=1\n"},
		{"name: x\nrequires:\n- b\n- c # why\n\n# z\nz: 1", "a >=1",
			"name: x\nrequires:\n- a >=1\n\n# z\nz: 1"},
		{"name: x\nrequires:   # all\n  # the first\n  - a >=1   # why\n  - b\n\n  # last\nz: 1\n",
			"a ~= 1.2;b", "name: x\nrequires:   # all\n  # the first\n  - a ~= 1.2   # why\n" +
				"  - b\n\n  # last\nz: 1\n"},
		{"requires:\n    - c\n    - a>=1\n# of b\n    - 'b <2'\nz: 1\n", "a >=1;b ~= 1.0;c;d",
			"requires:\n    - c\n    - a>=1\n# of b\n    - b ~= 1.0\n    - d\nz: 1\n"},
		{"requires:\n- a # it\n# of b\n- b\n# of z\nz: 1", "a ~= 1.0",
			"requires:\n- a ~= 1.0 # it\n# of b\n# of z\nz: 1"},
		{"requires: # none\n  - a # one\nz: 1\n", "", "requires: [] # none\nz: 1\n"},
		{"z: 1\nrequires:\n- a", "a >1;b", "z: 1\nrequires:\n- a >1\n- b\n"},
		{"name: x\r\nrequires:\r\n- a\r\nz: 1\r\n", "a >1;b",
			"name: x\r\nrequires:\r\n- a >1\r\n- b\r\nz: 1\r\n"},
		{"requires: [b,\n  c] # why\nname: x\n", "a >=1", "requires: # why\n  - a >=1\nname: x\n"},
		{"requires: [ b, c ] # why\nname: x\n", "a >1,<2;b",
			"requires: ['a >1,<2', b] # why\nname: x\n"},
		{"requires: ['b # c', \"d ]\"]\nname: x\n", "a", "requires: [a]\nname: x\n"},
		{"requires: [] # none\nname: x\n", "a", "requires: # none\n  - a\nname: x\n"},
		{"requires:\nname: x\n", "a", "requires:\n  - a\nname: x\n"},
		{"requires: # none\n\nname: x\n", "a", "requires: # none\n  - a\n\nname: x\n"},
		{"requires: b\nname: x\n", "a >=1", "requires:\n  - a >=1\nname: x\n"},
		{"{name: x, requires: [b]}\n", "a", "{name: x, requires: [a]}\n"},
		{"{name: x}\n", "a", ""},
		{"requires:\n  - a\n  - >-\n    b\n    <2\n", "b >1", ""},
	} {
		var wanted []string
		if c.wanted != "" {
			wanted = strings.Split(c.wanted, ";")
		}
		got, err := setRequires([]byte(c.before), wanted)
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q\n got %q, %v\nwant %q", c.before, got, err, c.want)
		}
	}
}

// FuzzSetRequires holds that what is written can be read, and is what was meant.
func FuzzSetRequires(f *testing.F) {
	f.Add("name: x\nrequires:\n- b\n")
	f.Add("requires: [a]\nname: x")
	f.Fuzz(func(t *testing.T, text string) {
		if _, _, err := metadata.ReadProject("project.yml", []byte(text)); err != nil ||
			strings.Contains(text, "---") {
			return
		}
		after, err := setRequires([]byte(text), []string{"net ~= 1.0"})
		if err != nil {
			return
		}
		p, _, err := metadata.ReadProject("project.yml", after)
		if err != nil || len(p.Requires) != 1 {
			t.Errorf("%q became %q: %v", text, after, err)
		}
	})
}
