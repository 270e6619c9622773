package net

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/textfile"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
)

const before = "# what came with the system\n127.0.0.1   localhost\n" +
	"::1 localhost ip6-localhost # both\n\n10.0.0.1 gw\n"

// relisted lists the file that was set last.
type relisted struct {
	handler
	mu   sync.Mutex
	file string
}

func (r *relisted) set(file string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file = file
}

func (r *relisted) List(ctx *provider.Context, found func(provider.Found) error) error {
	r.mu.Lock()
	h := r.handler
	h.listed = r.file
	r.mu.Unlock()
	return h.List(ctx, found)
}

func TestConformance(t *testing.T) {
	s := &providertest.Stopper{}
	d := HostEntry()
	listed := &relisted{
		handler: newHandler(textfile.Editor{Sys: &disk.System{
			Before: func(string) error { return s.Before() }}})}
	d.Handler = listed
	providertest.Run(t,
		providertest.Subject{Definition: d,
			New: func(dir string, _ *providertest.Host) (providertest.Case, error) {
				file := filepath.Join(dir, "hosts")
				put := func() error { return os.WriteFile(file, []byte(before), 0o644) }
				listed.set(file)
				c := providertest.Case{
					Attributes: map[string]any{"name": "web1", "file": file, "ip": "10.0.0.7"},
					Updates: []map[string]any{
						{"ip": []any{"10.0.0.8", "2001:DB8:0::8"}},
						{"aliases": []any{"www", "web1.example.org"}}, {"comment": "one of ours"},
						{"ip": []any{"10.0.0.9", "10.0.0.8", "::7"}}, {"ip": "10.0.0.9"},
						{"aliases": []any{}},
					},
					World: func() (string, error) {
						data, err := os.ReadFile(file)
						return string(data), err
					},
					Vanish:    put,
					Interrupt: s.Interrupt,
					Edges:     []string{"*"},
				}
				for i := range 4 {
					c.Others = append(c.Others, map[string]any{"name": fmt.Sprint("n", i),
						"file": file, "ip": fmt.Sprint("10.1.0.", i),
						"aliases": []any{fmt.Sprint("a", i)}})
				}
				return c, put()
			}})
}

func TestHostEntry(t *testing.T) {
	for _, tc := range []struct {
		why, before string
		attrs       map[string]any
		change      diff.Change
		want        string
	}{
		{"new ones stand at the end", "1.1.1.1 a\n",
			map[string]any{"ip": "10.0.0.1", "aliases": []any{"y"}, "comment": "c"}, diff.Created,
			"1.1.1.1 a\n10.0.0.1\tx y\t# c\n"},
		{"a last line without an end gets one", "1.1.1.1 a", map[string]any{"ip": "10.0.0.1"}, diff.Created,
			"1.1.1.1 a\n10.0.0.1\tx\n"},
		{"right lines stay as they are written", " 10.0.0.1  \tX\ty  #c\n",
			map[string]any{"ip": "10.0.0.1", "aliases": []any{"Y"}}, diff.NoChange,
			" 10.0.0.1  \tX\ty  #c\n"},
		{"an address written in another way is the same", "2001:0db8::0001 x\n",
			map[string]any{"ip": "2001:db8::1"}, diff.NoChange, "2001:0db8::0001 x\n"},
		{"aliases that nobody speaks of stay", "10.0.0.1 x y # why\n",
			map[string]any{"ip": "10.0.0.2"}, diff.Updated, "10.0.0.2\tx y\t# why\n"},
		{"a second address", "10.0.0.1 x\nz\n", map[string]any{"ip": []any{"10.0.0.1", "::1"}},
			diff.Updated, "10.0.0.1 x\n::1\tx\nz\n"},
		{"the order of addresses is not a difference", "::1 x\n10.0.0.1 x\n",
			map[string]any{"ip": []any{"10.0.0.1", "::1"}}, diff.NoChange, "::1 x\n10.0.0.1 x\n"},
		{"the same line twice is once too often", "10.0.0.1 x\n10.0.0.1 x\n",
			map[string]any{"ip": "10.0.0.1"}, diff.Updated, "10.0.0.1 x\n"},
		{"a second line of the address with other aliases stays", "10.0.0.1 x\n10.0.0.1 x Y\n",
			map[string]any{"ip": "10.0.0.1"}, diff.NoChange, "10.0.0.1 x\n10.0.0.1 x Y\n"},
		{"but not when the aliases are described", "10.0.0.1 x\n10.0.0.1 x y\n",
			map[string]any{"ip": "10.0.0.1", "aliases": []any{}}, diff.Updated, "10.0.0.1 x\n"},
		{"lines of other addresses go", "10.0.0.1 x\n10.0.0.2 x\n",
			map[string]any{"ip": "10.0.0.2"}, diff.Updated, "10.0.0.2 x\n"},
		{"the name as an alias, or in a comment, is another matter", "10.0.0.1 a x\n#10.0.0.2 x\n",
			map[string]any{"ip": "10.0.0.3"}, diff.Created,
			"10.0.0.1 a x\n#10.0.0.2 x\n10.0.0.3\tx\n"},
		{"what is not an entry stays", "10.0.0.999 x\nnonsense\n\x00\n",
			map[string]any{"ip": "10.0.0.3"}, diff.Created,
			"10.0.0.999 x\nnonsense\n\x00\n10.0.0.3\tx\n"},
		{"no aliases at all", "10.0.0.1 x y\n",
			map[string]any{"ip": "10.0.0.1", "aliases": []any{}}, diff.Updated, "10.0.0.1\tx\n"},
		{"a new line says what the first does", "10.0.0.1 x y # c\n",
			map[string]any{"ip": []any{"10.0.0.1", "10.0.0.2"}}, diff.Updated,
			"10.0.0.1 x y # c\n10.0.0.2\tx y\t# c\n"},
		{"comment taken away", "10.0.0.1 x y # c\n",
			map[string]any{"ip": "10.0.0.1", "comment": ""}, diff.Updated, "10.0.0.1\tx y\n"},
		{"a file of the other kind", "1.1.1.1 a\r\n", map[string]any{"ip": "10.0.0.1"},
			diff.Created, "1.1.1.1 a\r\n10.0.0.1\tx\r\n"},
		{"purge", "# x\r\n10.0.0.1 x\r\n::1 x\r\nb", nil, diff.Purged, "# x\r\nb"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "hosts")
			if err := os.WriteFile(file, []byte(tc.before), 0o600); err != nil {
				t.Fatal(err)
			}
			attrs := map[string]any{"name": "x", "file": file, "ip": "::2"}
			for k, v := range tc.attrs {
				attrs[k] = v
			}
			r := provider.Resource{Attributes: attrs, Purged: tc.change == diff.Purged}
			for i, want := range []diff.Change{tc.change, diff.NoChange} {
				if got, err := apply(t, r); err != nil || got != want {
					t.Fatalf("apply %d did %q, %v", i+1, got, err)
				}
			}
			if data, err := os.ReadFile(file); err != nil || string(data) != tc.want {
				t.Fatalf("%q, %v", data, err)
			}
		})
	}
}

func apply(t *testing.T, r provider.Resource) (diff.Change, error) {
	t.Helper()
	reg, err := schema.NewRegistry(HostEntry().Type)
	if err != nil {
		return "", err
	}
	typ, _ := reg.Type("net::HostEntry")
	h := newHandler(textfile.Editor{})
	ctx := providertest.NewHost(nil).Context(t.Context(), provider.Options{})
	obs, err := h.Read(ctx, provider.ReadRequest{Resource: r})
	switch {
	case err != nil:
		return "", err
	case r.Purged && obs.Exists:
		_, err = h.Delete(ctx, provider.DeleteRequest{Resource: r, Observed: obs})
		return diff.Purged, err
	case r.Purged:
		return diff.NoChange, nil
	case !obs.Exists:
		_, err = h.Create(ctx, provider.CreateRequest{Resource: r})
		return diff.Created, err
	case len(diff.Compare(typ, r.Attributes, obs.Attributes)) == 0:
		return diff.NoChange, nil
	}
	_, err = h.Update(ctx, provider.UpdateRequest{Resource: r, Observed: obs})
	return diff.Updated, err
}

func TestDeclaration(t *testing.T) {
	reg, err := schema.NewRegistry(HostEntry().Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := reg.Type("net::HostEntry")
	for why, tc := range map[string]struct {
		attrs map[string]any
		part  string
	}{
		"no address":       {map[string]any{"ip": "10.0.0"}, "ip"},
		"an address twice": {map[string]any{"ip": []any{"::1", "0:0::1"}}, "ip"},
		"a name twice": {map[string]any{"ip": "::1", "aliases": []any{"b", "X"}},
			"aliases"},
		"a name with a space": {map[string]any{"ip": "::1", "name": "a b"}, "name"},
		"a comment of two": {map[string]any{"ip": "::1", "comment": "a\n10.0.0.1 evil"},
			"comment"},
		"a path not in its way": {map[string]any{"ip": "::1", "file": "/etc/../hosts"}, "file"},
	} {
		attrs := map[string]any{"name": "x"}
		for k, v := range tc.attrs {
			attrs[k] = v
		}
		if _, problems := typ.Check(attrs); len(problems) != 1 || problems[0].Attribute != tc.part {
			t.Errorf("%s: %v", why, problems)
		}
	}
	if full, problems := typ.Check(map[string]any{"name": "x", "ip": "::1"}); len(problems) > 0 ||
		full["file"] != "/etc/hosts" {
		t.Error(full, problems)
	}
}

// TestResolves has the system's own resolver read the file, mounted on /etc/hosts in a mount name
// space of its own.
func TestResolves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	r := provider.Resource{Attributes: map[string]any{"name": "web1.test", "file": file,
		"ip": []any{"10.9.8.7"}, "aliases": []any{"alias.test"}}}
	if _, err := apply(t, r); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--mount", "sh", "-c",
		`mount --bind "$0" /etc/hosts && getent ahostsv4 alias.test`, file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "10.9.8.7") {
		t.Fatalf("%s %s %v", out, &stderr, err)
	}
}

// TestListOfAFile lists the file that is asked for.
func TestListOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte("::1 here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHandler(textfile.Editor{})
	h.listed = "/nowhere"
	var got []any
	err := h.List(providertest.NewHost(nil).Context(t.Context(), provider.Options{
		Desired: provider.Resource{Attributes: map[string]any{"file": file}}}),
		func(f provider.Found) error {
			got = append(got, f.Attributes["name"], f.Attributes["file"])
			return nil
		})
	if err != nil || len(got) != 2 || got[0] != "here" || got[1] != file {
		t.Fatal(got, err)
	}
}
