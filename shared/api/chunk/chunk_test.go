package chunk

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"southbound/handlers/fs"
	"southbound/handlers/std"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

// registry knows the types of what the tests pack.
func registry(t testing.TB) *schema.Registry {
	t.Helper()
	r, err := schema.NewRegistry(std.Null().Type, fs.File().Type)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func modelOf(n int, value func(i int) any) *model.Model {
	m := &model.Model{}
	for i := range n {
		name := fmt.Sprint("n", i)
		m.Resources = append(m.Resources,
			resource.Resource{ID: resource.NewID("std::Null", "a",
				resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: "a",
				Attributes: map[string]any{"name": name, "value": value(i)},
				Flags:      resource.Flags{ReceiveEvents: true}})
	}
	return m
}

// unpackAll returns what a chunk holds.
func unpackAll(raw []byte) ([]byte, error) {
	var room atomic.Int64
	room.Store(maxModel)
	text, err := unpack(raw, &room)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	return io.ReadAll(text)
}

func hashesOf(blobs []state.Blob) []string {
	var out []string
	for _, b := range blobs {
		out = append(out, b.Hash)
	}
	return out
}

// TestPack wants all resources back from the chunks, each where order says, in chunks that are
// small and stay the same. The race detector watches what is small: the test command runs all of it
// as shipped.
func TestPack(t *testing.T) {
	t.Parallel()
	types := registry(t)
	for _, c := range []struct {
		why    string
		model  *model.Model
		chunks int // at most
	}{
		{"nothing", modelOf(0, nil), 0},
		{"one", modelOf(1, func(int) any { return "x" }), 1},
		{"many", modelOf(80_000, func(i int) any { return i % 7 * 2 }), 4},
		{"large ones",
			modelOf(300, func(i int) any { return strings.Repeat(fmt.Sprint(i%10), 100_000) }), 32},
		{"a huge one", modelOf(3, func(int) any { return strings.Repeat("x", 9<<20) }), 3},
	} {
		if testing.Short() && len(c.model.Resources) > 1 {
			continue
		}
		for i := range c.model.Resources {
			if v, ok := c.model.Resources[i].Attributes["value"].(int); ok {
				c.model.Resources[i].Attributes["value"] = int64(v)
			}
		}
		p, err := Pack(c.model)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Chunks) > c.chunks || len(p.Order) != len(c.model.Resources) {
			t.Errorf("%s: %d chunks of %d resources", c.why, len(p.Chunks), len(p.Order))
		}
		var got []resource.Resource
		for _, b := range p.Chunks {
			text, err := unpackAll(b.Data)
			if err != nil {
				t.Fatal(err)
			}
			part, err := readChunk(model.NewChecker(types, nil, nil, nil), b.Hash, bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if len(part) > maxResources || len(text) > maxBytes && len(part) > 1 {
				t.Errorf("%s: a chunk of %d resources and %d bytes", c.why, len(part), len(text))
			}
			got = append(got, part...)
		}
		for i, at := range p.Order {
			if got[i].ID != c.model.Resources[at].ID {
				t.Fatalf("%s: resource %d is %s, not %s", c.why, i, got[i].ID,
					c.model.Resources[at].ID)
			}
		}
		slices.Reverse(c.model.Resources)
		again, err := Pack(c.model)
		if err != nil || !slices.Equal(hashesOf(p.Chunks), hashesOf(again.Chunks)) {
			t.Errorf("%s: in another order it has other chunks: %v", c.why, err)
		}
	}
}

// TestFewChunksChange changes two of many resources.
func TestFewChunksChange(t *testing.T) {
	t.Parallel()
	m := modelOf(70_000, func(int) any { return "x" })
	before, err := Pack(m)
	if err != nil {
		t.Fatal(err)
	}
	for i := 7; i < len(m.Resources); i += 40_000 {
		m.Resources[i].Attributes["value"] = "y"
	}
	after, err := Pack(m)
	if err != nil {
		t.Fatal(err)
	}
	had := map[string]bool{}
	for _, b := range before.Chunks {
		had[b.Hash] = true
	}
	fresh := 0
	for _, b := range after.Chunks {
		if !had[b.Hash] {
			fresh++
		}
	}
	if fresh == 0 || fresh > 2 || len(after.Chunks) != 4 {
		t.Errorf("%d of %d chunks changed", fresh, len(after.Chunks))
	}
}

// TestBadChunks are ones that no client of ours would send.
func TestBadChunks(t *testing.T) {
	t.Parallel()
	types := registry(t)
	for why, line := range map[string]string{
		"no resource":              `{}`,
		"no JSON":                  `x`,
		"an empty line":            "\n",
		"the name of another":      `{"attributes":{"name":"x"},"id":"std::Null[a,name=y]"}`,
		"another name of the name": `{"attributes":{"name":"x"},"id":"std::Null[a,nom=x]"}`,
		"no name":                  `{"attributes":{},"id":"std::Null[a,name=x]"}`,
		"a file of " +
			"another path": `{"attributes":{"content":"x","path":"/etc/passwd"},"id":"fs::File[a,path=/tmp/x]"}`,
		"an id that is none": `{"attributes":{"name":"x"},"id":"std::Null"}`,
		"what it " +
			"requires is none": `{"attributes":{"name":"x"},"id":"std::Null[a,name=x]","requires":["x"]}`,
		"a set over " +
			"two lines": `{"attributes":{"name":"x"},"id":"std::Null[a,name=x]","set":"a\nb"}`,
		"a secret " +
			"from nowhere": `{"attributes":{"name":"x","value":{"secret":"hunter2"}},"id":"std::Null[a,name=x]"}`,
		"a member of a " +
			"newer program": `{"attributes":{"name":"x"},"id":"std::Null[a,name=x]","new":1}`,
		"a fact of what is " +
			"not an id": `{"attributes":{"name":"x","value":{"fact":"f","of":"x"}},"id":"std::Null[a,name=x]"}`,
		"a file whose hash is " +
			"not a hash": `{"attributes":{"name":"x","value":{"file":"../x","size":1}},"id":"std::Null[a,name=x]"}`,
	} {
		_, err := readChunk(model.NewChecker(types, nil, nil, nil), "h", strings.NewReader(line+"\n"))
		if !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", why, err)
		}
	}
	for why, line := range map[string]string{
		"no agent":          `{}`,
		"no JSON":           `x`,
		"no transport":      `{"name":"a","lanes":1}`,
		"too many lanes":    `{"name":"a","lanes":100000,"transport":"local"}`,
		"no lane":           `{"name":"a","lanes":0,"transport":"local"}`,
		"an unknown option": `{"name":"a","lanes":1,"transport":"aws","options":{"rol":"x"}}`,
		"twice": `{"name":"a","lanes":1,"transport":"local"}` + "\n" +
			`{"name":"a","lanes":2,"transport":"local"}`,
		"a secret " +
			"of nowhere": `{"name":"a","lanes":1,"transport":"ssh","options":{"password":{"secret":"hunter2"}}}`,
	} {
		if _, err := readAgents("h", []byte(line+"\n"),
			transport.Check); !fault.Is(err, fault.Invalid) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("agents, %s: %v", why, err)
		}
	}
}

// FuzzChunk reads anything as resources and as agents: what is accepted is what would be written.
func FuzzChunk(f *testing.F) {
	types := registry(f)
	f.Add(
		[]byte(
			`{"attributes":{"name":"x","value":{"secret":"env:X"}},"id":"std::Null[a,name=x]","requires":["std::Null[b,name=y]"],"set":"s"}` +
				"\n"))
	f.Add([]byte(`{"name":"a","lanes":1,"transport":"local"}` + "\n"))
	f.Add([]byte("{}\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		resources, err := readChunk(model.NewChecker(types, nil, nil, nil), "h", bytes.NewReader(text))
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%v", err)
		}
		for i := range resources {
			line, err := resources[i].Encode()
			if err != nil {
				t.Fatalf("%s is not written again: %v", resources[i].ID, err)
			}
			if again, err := readChunk(model.NewChecker(types, nil, nil, nil), "h",
				bytes.NewReader(append(line, '\n'))); err != nil ||
				again[0].ID != resources[i].ID {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if _, err := readAgents("h", text, transport.Check); err != nil &&
			!fault.Is(err, fault.Invalid) {
			t.Errorf("%v", err)
		}
		_, _ = unpackAll(text)
	})
}
