package kept

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"southbound/handlers"
	"southbound/shared/api/chunk"
	"southbound/shared/api/files"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

// keptModel is a plan with an agent, files, and what it was shown as.
func keptModel(n int) *Plan {
	m := &model.Model{Agents: []resource.Agent{{Name: "a", Transport: "local", Lanes: 2}}}
	for i := range n {
		name := fmt.Sprint("n", i)
		m.Resources = append(m.Resources,
			resource.Resource{ID: resource.NewID("std::Null", "a",
				resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: "a",
				Attributes: map[string]any{"name": name, "value": fmt.Sprint(i)},
				Flags:      resource.Flags{ReceiveEvents: true}})
	}
	b := chunk.Blob([]byte("some bytes"))
	m.Files = map[string]state.Blob{b.Hash: b}
	m.Resources[0].Attributes["value"] = resource.File{Hash: b.Hash, Size: b.Size}
	m.Fingerprint = "f"
	planned := make([]deploy.PlannedChange, n)
	for i := range planned {
		planned[i] = deploy.PlannedChange{ID: m.Resources[i].ID, Action: "update",
			Changes: map[string]diff.Diff{"value": {Current: "<old>", Desired: "new"}}}
	}
	return &Plan{
		Made:        time.Unix(1_700_000_000, 0).UTC(),
		Program:     "p",
		Environment: "e",
		Home:        "/h",
		Project:     "/h/site",
		Last:        3,
		Released:    2,
		Compare:     deploy.CompareOptions{Read: true},
		Export: deploy.Export{
			Model:  m,
			Expect: strings.Repeat("a", 64),
			Check:  true,
			Origin: state.Origin{Author: "me"},
		},
		Planned: planned,
	}
}

func keptFile(t testing.TB, k *Plan) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := k.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readKept(types *schema.Registry, b []byte) (*Plan, error) {
	return Read(context.Background(), bytes.NewReader(b), int64(len(b)), types, transport.Check)
}

func keptTypes(t testing.TB) *schema.Registry {
	t.Helper()
	r, err := schema.NewRegistry(provider.Types(handlers.All())...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestKept wants a plan back from its file, and the same file of the same plan.
func TestKept(t *testing.T) {
	t.Parallel()
	k := keptModel(50)
	b := keptFile(t, k)
	if !MayBePlan(b) || !bytes.Equal(b, keptFile(t, keptModel(50))) {
		t.Error("the same plan makes another file")
	}
	got, err := readKept(keptTypes(t), b)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Export.Model.Resources) != 50 || len(got.Export.Model.Files) != 1 ||
		len(got.Export.Model.Agents) != 1 {
		t.Errorf("the model is %+v", got.Export.Model)
	}
	for _, f := range got.Export.Model.Files {
		r, err := files.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); err != nil || string(text) != "some bytes" {
			t.Errorf("a file holds %q, %v", text, err)
		}
	}
	got.Export.Model, k.Export.Model = nil, nil
	if !reflect.DeepEqual(got, k) {
		t.Errorf("got  %+v\nwant %+v", got, k)
	}
}

// TestKeptDamaged flips every byte of a plan and cuts it everywhere: what is read is the plan, or
// nothing.
func TestKeptDamaged(t *testing.T) {
	t.Parallel()
	types := keptTypes(t)
	whole := keptFile(t, keptModel(3))
	want, err := readKept(types, whole)
	if err != nil {
		t.Fatal(err)
	}
	try := func(how string, at int, b []byte) {
		got, err := readKept(types, b)
		if err != nil {
			if !fault.Is(err, fault.Damaged) && !fault.Is(err, fault.Foreign) &&
				!fault.Is(err, fault.Unsupported) || fault.HintOf(err) == "" {
				t.Errorf("%s at %d: kind %q: %v", how, at, fault.KindOf(err), err)
			}
			return
		}
		if !reflect.DeepEqual(got.Export.Model.Resources, want.Export.Model.Resources) ||
			!reflect.DeepEqual(got.Planned, want.Planned) ||
			got.Export.Expect != want.Export.Expect ||
			got.Environment != want.Environment {
			t.Errorf("%s at %d: another plan was read", how, at)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x21
		try("a byte flipped", i, b)
		if i%7 == 0 {
			_, err := readKept(types, whole[:i])
			if !fault.Is(err, fault.Damaged) {
				t.Errorf("cut at %d: %v", i, err)
			}
		}
	}
	if _, err := readKept(types, append(bytes.Clone(whole), "more"...)); !fault.Is(err,
		fault.Damaged) {
		t.Errorf("with something behind it: %v", err)
	}
}

// TestKeptForeign reads zip files that no such program has written.
func TestKeptForeign(t *testing.T) {
	t.Parallel()
	types := keptTypes(t)
	type file struct{ name, text string }
	const head = `{"southbound_plan":1,"made":"2026-01-01T00:00:00Z","program":"","environment":"e","home":"","last":0,"released":0,` +
		`"read":false,"whole":false,"bundle":{"chunks":[],"expect":"x"},"blobs":[],"files":[],"shown":{"hash":` +
		`"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0}}`
	for _, c := range []struct {
		why   string
		kind  fault.Kind
		files []file
	}{
		{"another zip file", fault.Foreign, []file{{"README", "hello"}}},
		{"an empty zip file", fault.Foreign, nil},
		{"JSON of something else", fault.Foreign,
			[]file{{"plan.json", `{"format_version":"1.2"}`}}},
		{"a newer format", fault.Foreign,
			[]file{{"plan.json", `{"southbound_plan":2,"new":true}`}}},
		{"an unknown member", fault.Damaged,
			[]file{{"plan.json", strings.Replace(head, `"last"`, `"lasts":1,"last"`, 1)}}},
		{"no environment", fault.Damaged,
			[]file{{"plan.json", strings.Replace(head, `"e"`, `"../e"`, 1)}}},
		{"nothing shown", fault.Damaged, []file{{"plan.json", head}}},
		{"an entry twice", fault.Damaged, []file{{"plan.json", head}, {"shown", ""},
			{"shown", ""}}},
		{"more than it names", fault.Damaged, []file{{"plan.json", head}, {"shown", ""},
			{"../../etc/passwd", "x"}}},
		{"another size", fault.Damaged, []file{{"plan.json", head}, {"shown", "{}"}}},
		{"a chunk that is not there", fault.Damaged,
			[]file{
				{"plan.json",
					strings.Replace(head, `"chunks":[]`, `"chunks":["`+strings.Repeat("0", 64)+`"]`,
						1)}, {"shown", ""}}},
		{"a file that is not there", fault.Damaged,
			[]file{
				{"plan.json",
					strings.Replace(head, `"files":[]`, `"files":["`+strings.Repeat("0", 64)+`"]`,
						1)}, {"shown", ""}}},
		{"no state", fault.Damaged,
			[]file{{"plan.json", strings.Replace(head, `,"expect":"x"`, "", 1)}, {"shown", ""}}},
		{"too much", fault.Unsupported,
			[]file{{"plan.json", strings.Replace(head, `"size":0`, `"size":99999999999`, 1)},
				{"shown", ""}}},
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, f := range c.files {
			w, err := z.Create(f.name)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(w, f.text)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := readKept(types, b.Bytes()); !fault.Is(err, c.kind) {
			t.Errorf("%s: kind %q: %v", c.why, fault.KindOf(err), err)
		}
	}
}

// TestKeptBounds refuses a plan that would not be read again, before it is written.
func TestKeptBounds(t *testing.T) {
	t.Parallel()
	k := keptModel(1)
	k.Export.Model.Files["x"] = state.Blob{Hash: "x", Size: maxKept,
		Open: func() (io.ReadCloser, error) { t.Error("it is read"); return nil, io.EOF }}
	if err := k.Write(io.Discard); !fault.Is(err, fault.Unsupported) {
		t.Errorf("a plan of too many bytes: %v", err)
	}
	k = keptModel(1)
	for h, b := range k.Export.Model.Files {
		b.Data = []byte("other bytes")
		k.Export.Model.Files[h] = b
	}
	if err := k.Write(io.Discard); !fault.Is(err, fault.Invalid) {
		t.Errorf("a file that changed meanwhile: %v", err)
	}
}
