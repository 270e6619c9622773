package declared

import (
	"context"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

const head = "southbound_type: 1\ndescription: d\nattributes:\n" +
	"  - {name: name, type: \"String[1]\", behaviour: namevar, description: its name}\n"

func program(t *testing.T) *schema.Registry {
	t.Helper()
	r, err := schema.NewRegistry(schema.Type{Name: "net::Vlan", Attributes: []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestParse has the files that are refused, with the place and the reason, and those that are not.
func TestParse(t *testing.T) {
	t.Parallel()
	types := program(t)
	for name, c := range map[string]struct{ text, want string }{
		"one":        {head + "name: tf::demo::Thing\n", ""},
		"two":        {head + "name: tf::A\n---\n" + head + "name: tf::B\n", ""},
		"related":    {head + "name: tf::A\nrelations:\n  - {kind: require, type: \"tf::B\", title: $name}\n---\n" + head + "name: tf::B\n", ""},
		"own name":   {head + "name: net::Vlan\n", "f.yaml:1:1: net::Vlan: a declared type cannot have a name that begins with net::, as net::Vlan of this program does"},
		"own prefix": {head + "name: net::Other\n", "begins with net::"},
		"functions":  {head + "name: tf::A\ncode: [validate]\n", "f.yaml:1:1: tf::A: a declared type has no functions, and this one names validate"},
		"machine":    {head + "name: tf::A\nmachine: true\n", "not about things on a machine"},
		"outside":    {head + "name: tf::A\nrelations:\n  - {kind: require, type: \"net::Vlan\", title: $name}\n", "f.yaml:7:5: tf::A: the relation is to net::Vlan, which this file does not declare"},
		"twice":      {head + "name: tf::A\n---\n" + head + "name: tf::A\n", "registered twice"},
		"handler":    {head + "name: tf::A\nmetadata: {handler: \"a\\nb\"}\n", "the metadata handler is not a line of text"},
		"attribute":  {head + "  - {name: _type, type: String, description: d}\nname: tf::A\n", "_type"},
		"no file":    {"", "there is no declaration in the text"},
		"not YAML":   {"a: [", "this is not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse("f.yaml", []byte(c.text), types)
			if c.want == "" {
				if err != nil || d.Hash != HashOf([]byte(c.text)) {
					t.Fatal(err)
				}
				for _, typ := range d.Types() {
					stored, known := d.Stored(typ.Name)
					_, shown := typ.Attribute(Attribute)
					if !known || shown || typ.Declaration() != d {
						t.Errorf("%s: stored %v, shown %v", typ.Name, known, shown)
					}
					if _, has := stored.Attribute(Attribute); !has {
						t.Errorf("%s as stored has no attribute %s", typ.Name, Attribute)
					}
				}
				return
			}
			problems, _ := diag.Of(err)
			if len(problems) == 0 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// files are stored files that count their reads.
type files struct {
	texts map[string][]byte
	reads int
}

func (f *files) Get(_ context.Context, hashes []string) ([][]byte, error) {
	f.reads++
	text, there := f.texts[hashes[0]]
	if !there {
		return nil, fault.New(fault.NotFound, "", "no file")
	}
	return [][]byte{text}, nil
}

// TestCache holds that a declaration is read once while it is kept, that the cache is bounded, and that
// lost, damaged and large files are refused.
func TestCache(t *testing.T) {
	t.Parallel()
	c, stored := NewCache(program(t)), &files{texts: map[string][]byte{}}
	first := resource.File{}
	for n := range maxKept + 1 {
		text := []byte(head + "name: tf::T" + strings.Repeat("x", n) + "\n")
		f := resource.File{Hash: HashOf(text), Size: int64(len(text))}
		stored.texts[f.Hash] = text
		if n == 0 {
			first = f
		}
		for range 2 {
			if _, err := c.Read(t.Context(), stored, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	if stored.reads != maxKept+1 || c.Kept(first.Hash) != nil {
		t.Errorf("%d reads, and the first is kept: %v", stored.reads, c.Kept(first.Hash) != nil)
	}
	if _, err := c.Read(t.Context(), stored, first); err != nil || stored.reads != maxKept+2 {
		t.Errorf("%d reads: %v", stored.reads, err)
	}
	stored.texts["0123"] = []byte("other")
	for hash, want := range map[string]fault.Kind{"0123": fault.Damaged, "4567": fault.NotFound} {
		if _, err := c.Read(t.Context(), stored, resource.File{Hash: hash}); !fault.Is(err, want) {
			t.Errorf("%s: %v", hash, err)
		}
	}
	_, err := c.Read(t.Context(), stored, resource.File{Hash: "89", Size: MaxBytes + 1})
	if !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}
