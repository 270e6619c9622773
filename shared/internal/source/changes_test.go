package source

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// texts are documents that edits change.
type texts struct {
	rnd   *rand.Rand
	docs  []docText
	files []int
	proj  int
}

type docText struct {
	form  int
	head  int
	items []itemText
	tail  int
}

type itemText struct{ name, form, value, more int }

// forms write an item. The last three are not usual: a text that looks like items, a dash alone, and
// an item that another one needs.
var forms = []string{
	"  - type: std::Null\n    attributes: {name: n%[1]d, value: v%[2]d}\n",
	"  - type: std::Null # one\n    attributes:\n      name: n%[1]d\n      value: |\n        " +
		"v%[2]d\n          - type: x\n\n",
	"  - {type: std::Null, attributes: {name: n%[1]d, value: \"v%[2]d\"}}\n",
	"  - type: std::Null\n    agents: [a, b%[3]d]\n    attributes: {name: n%[1]d, value: v%[2]d}\n",
	"  - type: std::Null\n    purge_on_delete: true\n    requires: " +
		"[\"std::Null[a,name=n%[3]d]\"]\n    attributes: {name: n%[1]d, value: v%[2]d}\n",
	"  - type: fs::File\n    purged: %[4]t\n    attributes: {path: /n%[1]d, content: {file: " +
		"f%[3]d}, group: g%[2]d}\n",
	"  - type: std::Null\n    managed: false\n    attributes: {name: n%[1]d, value: v%[2]d}\n",
	"  - type: std::Null\n    attributes: {name: n%[1]d, value: \"v%[2]d\n  - type: std::Null\n  " +
		"- z\"}\n",
	"  -\n    type: std::Null\n    attributes: {name: n%[1]d, value: v%[2]d}\n",
	"  - type: std::Null\n    attributes: {name: n%[1]d, value: &x%[1]d v%[2]d}\n  - type: " +
		"std::Null\n    attributes: {name: m%[1]d, value: *x%[1]d}\n",
}

// jsonForms write an item in JSON.
var jsonForms = []string{
	`{"type":"std::Null","attributes":{"name":"n%[1]d","value":"v%[2]d"}}`,
	"{\n\"type\": \"std::Null\",\n\"attributes\": {\"name\": \"n%[1]d\", \"value\": " +
		"\"v%[2]d,{}]\"}\n}",
	`{"type":"std::Null","attributes":{"name":"n%[1]d","value":"\"v%[2]d\u005d"}}`,
	`{"type":"std::Null","agents":["a","b%[3]d"],"attributes":{"name":"n%[1]d","value":"v%[2]d"}}`,
	`{"type":"std::Null","purge_on_delete":true,"requires":["std::Null[a,name=n%[3]d]"],"attributes":{"name":"n%[1]d","value":"v%[2]d"}}`,
	`{"type":"fs::File","purged":%[4]t,"attributes":{"path":"/n%[1]d","content":{"file":"f%[3]d"},"group":"g%[2]d"}}`,
	`{"type":"std::Null","managed":false,"attributes":{"name":"n%[1]d","value":"v%[2]d"}}`,
	`"n%[1]d"`,
	`{"type":"std::Null","type":"std::Null","attributes":{"name":"n%[1]d","value":"v%[2]d"}}`,
	`{"type":"std::Null","attributes":{"name":"n%[1]d","value":v%[2]d}}`,
}

// How a document is written.
const (
	inYAML = iota
	inYAMLOfWindows
	inJSON
	inJSONOnOneLine
	inJSONNamedYAML
)

func (d *docText) name(i int) string {
	if d.form == inJSON || d.form == inJSONOnOneLine {
		return fmt.Sprintf("d%d.json", i)
	}
	return fmt.Sprintf("d%d.yaml", i)
}

func (d *docText) json() string {
	var items []string
	for _, it := range d.items {
		items = append(items, fmt.Sprintf(jsonForms[it.form], it.name, it.value, it.more%2,
			it.more%5 == 4))
	}
	end := ""
	if d.tail%3 == 1 {
		end = fmt.Sprintf(`, "agents": {"a0": {"lanes": %d}}`, d.tail)
	}
	between := ",\n  "
	if d.tail%2 == 1 {
		between = "\n ,  "
	}
	text := fmt.Sprintf(
		"{\n  \"southbound\": 1, \"defaults\": {\"agent\": \"a%d\"},\n  \"resources\": [\n  "+
			"%s\n]%s}\n",
		d.head/5, strings.Join(items, between), end)
	if d.form == inJSONOnOneLine {
		text = strings.ReplaceAll(text, "\n", "")
	}
	return text
}

func (d *docText) text() string {
	if d.form >= inJSON {
		return d.json()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# one\nsouthbound: 1\ndefaults: {agent: a%d}\nresources:\n", d.head/5)
	for _, it := range d.items {
		fmt.Fprintf(&b, forms[it.form], it.name, it.value, it.more%2, it.more%5 == 4)
	}
	if d.tail%3 == 1 {
		fmt.Fprintf(&b, "agents:\n  a0: {lanes: %d}\n", d.tail)
	}
	out := b.String()
	if d.form == inYAMLOfWindows {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	return out
}

func (x *texts) write(t *testing.T, dir string) {
	t.Helper()
	for i := range x.docs {
		write(t, filepath.Join(dir, x.docs[i].name(i)), x.docs[i].text())
	}
	for i, content := range x.files {
		write(t, filepath.Join(dir, fmt.Sprintf("f%d", i)), strings.Repeat("f", content))
	}
	if x.proj > 4 {
		write(t, filepath.Join(dir, ProjectFile), fmt.Sprintf("defaults: {set: s%d}\n", x.proj/5))
	}
}

// allIn reports whether all documents are written as form, or in a way after it.
func (x *texts) allIn(form int) bool {
	return !slices.ContainsFunc(x.docs, func(d docText) bool { return d.form < form })
}

// edit changes something, or nothing.
func (x *texts) edit() {
	d := &x.docs[x.rnd.IntN(len(x.docs))]
	it := &d.items[x.rnd.IntN(len(d.items))]
	switch x.rnd.IntN(16) {
	case 0:
		d.head++
	case 1:
		d.tail++
	case 2:
		it.form = x.rnd.IntN(len(forms))
	case 3:
		it.more++
	case 4:
		d.items = append(d.items, itemText{name: 1000 + x.rnd.IntN(1000)})
	case 5:
		if len(d.items) > 1 {
			d.items = d.items[1:]
		}
	case 6:
		x.files[x.rnd.IntN(len(x.files))]++
	case 7:
		x.proj++
	default:
		it.value++
	}
}

func newTexts(rnd *rand.Rand) *texts {
	x := &texts{rnd: rnd, files: []int{1, 2}}
	good := len(forms) - 3 // without those that are not usual
	fallback := len(forms) - rnd.IntN(2)*3
	for d := range 1 + rnd.IntN(3) {
		doc := docText{form: rnd.IntN(inJSONNamedYAML + 1)}
		if doc.form >= inJSON {
			fallback = good // the others are no documents in JSON
		}
		for i := range 1 + rnd.IntN(6) {
			doc.items = append(doc.items, itemText{name: 10*d + i, form: rnd.IntN(fallback)})
		}
		x.docs = append(x.docs, doc)
	}
	return x
}

// TestManyChanges edits documents at random, and wants what Changes reads to be what Load would
// read: what it does not read is as it was.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	told, inJSONs, seeds := 0, 0, uint64(150)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		x := newTexts(rand.New(rand.NewPCG(seed, 1)))
		dir := t.TempDir()
		opts := Options{Path: dir, Types: testTypes(t), Note: true}
		x.write(t, dir)
		was, in, err := Load(context.Background(), opts)
		if err != nil {
			continue
		}
		for range 12 {
			for range 1 + x.rnd.IntN(2) {
				x.edit()
			}
			x.write(t, dir)
			stored, err := DecodeInputs(in.Encode("key"), "key")
			if err != nil || !reflect.DeepEqual(stored, in) {
				t.Fatalf("seed %d: inputs are stored as others: %v", seed, err)
			}
			c, ok := stored.Changes(context.Background(), opts)
			now, noted, err := Load(context.Background(), opts)
			if err != nil {
				if ok && c.Model != nil {
					t.Fatalf("seed %d: something is wrong, and changes are told: %v", seed, err)
				}
				break
			}
			if ok {
				told++
				if c.Model != nil && x.allIn(inJSON) {
					inJSONs++
				}
				if c.Fingerprint != now.Fingerprint || !reflect.DeepEqual(c.Now, noted) {
					t.Fatalf("seed %d: other inputs:\n%v\nwant\n%v", seed, c.Now, noted)
				}
				checkChanges(t, was.Resources, now.Resources, c)
			}
			was, in = now, noted
		}
	}
	if !testing.Short() && (told < 250 || inJSONs < 40) {
		t.Errorf("changes were told %d times only, %d times of JSON", told, inJSONs)
	}
}

func checkChanges(t *testing.T, was, now []resource.Resource, c Changes) {
	t.Helper()
	changed := map[resource.ID]*resource.Resource{}
	if c.Model != nil {
		for i := range c.Model.Resources {
			changed[c.Model.Resources[i].ID] = &c.Model.Resources[i]
		}
	}
	if len(was) != len(now) {
		t.Fatalf("%d resources are %d by now, and changes are told", len(was), len(now))
	}
	for i := range now {
		want := &was[i]
		if r := changed[now[i].ID]; r != nil {
			if r.Set != want.Set || r.Purged != want.Purged ||
				!slices.Equal(r.Requires, want.Requires) {
				t.Fatalf("%s means something else to others", r.ID)
			}
			want = r
			delete(changed, r.ID)
		}
		if !reflect.DeepEqual(*want, now[i]) {
			t.Fatalf("read as\n%v\nwant\n%v", *want, now[i])
		}
	}
	if len(changed) > 0 {
		t.Fatalf("changes of what is not there: %v", changed)
	}
}

// TestInputsOfOthers wants nothing to be read of what was not noted by this very program.
func TestInputsOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newTexts(rand.New(rand.NewPCG(1, 1))).write(t, dir)
	_, in, err := Load(context.Background(), Options{Path: dir, Types: testTypes(t), Note: true})
	if err != nil {
		t.Fatal(err)
	}
	b := in.Encode("one program")
	if _, err := DecodeInputs(b, "another"); !fault.Is(err, fault.Damaged) {
		t.Errorf("what another program has noted is read: %v", err)
	}
	for i := range b {
		c := slices.Clone(b)
		c[i] ^= 4
		if _, err := DecodeInputs(c, "one program"); !fault.Is(err, fault.Damaged) {
			t.Fatalf("with another byte %d: %v", i, err)
		}
		if _, err := DecodeInputs(b[:i], "one program"); !fault.Is(err, fault.Damaged) {
			t.Fatalf("cut after %d bytes: %v", i, err)
		}
	}
}
