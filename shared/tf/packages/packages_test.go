package packages

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/dirhash"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/tf/wire"
)

var random = Address{DefaultHost, "hashicorp", "random"}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hashicorp/random":                       DefaultHost + "/hashicorp/random",
		"Cyrilgdn/PostgreSQL":                    DefaultHost + "/cyrilgdn/postgresql",
		"registry.terraform.io/hashicorp/random": "registry.terraform.io/hashicorp/random",
		"127.0.0.1:8443/a-b/c_d":                 "127.0.0.1:8443/a-b/c_d",
		"random":                                 "",
		"":                                       "",
		"a/b/c/d":                                "",
		"../random":                              "",
		"hashicorp/..":                           "",
		"hashicorp/terraform-provider-random":    "",
		"example.com/a b/c":                      "",
		"-/x/y":                                  "",
		"a\x00/b":                                "",
		"x/" + strings.Repeat("a", 65):           "",
		"registry.opentofu.org:123456/hashicorp/aws": "",
	} {
		a, err := ParseAddress(text)
		if want == "" {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: got %v, %v", text, a, err)
			}
			continue
		}
		if err != nil || a.String() != want {
			t.Errorf("%q: got %v, %v", text, a, err)
		}
	}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	available := []string{"1.2.0", "1.10.1", "1.9.0", "2.0.0", "2.1.0-beta1", "no version"}
	for constraint, want := range map[string]string{
		"": "2.0.0", "~> 1.2": "1.10.1", "~> 1.2.0": "1.2.0", ">= 1.2, < 1.10": "1.9.0", "1.9.0": "1.9.0",
		"= 2.1.0-beta1": "2.1.0-beta1", "!= 2.0.0": "1.10.1", "> 1.0": "2.0.0",
	} {
		if got, err := Newest(available, constraint); err != nil || got != want {
			t.Errorf("%q: got %s, %v; want %s", constraint, got, err, want)
		}
	}
	if _, err := Newest(available, "> 2.0"); !fault.Is(err, fault.NotFound) ||
		!strings.Contains(fault.HintOf(err), "2.1.0-beta1") {
		t.Error(err)
	}
	if _, err := Newest(available, "about 2"); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}

const program = "terraform-provider-random_v3.6.0_x5"

// packed makes a zip file of names and texts, in turn.
func packed(t testing.TB, entries ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(entries); i += 2 {
		h := &zip.FileHeader{Name: entries[i], Method: zip.Deflate}
		if strings.HasSuffix(entries[i], "@") {
			h.Name = strings.TrimSuffix(entries[i], "@")
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, entries[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(t testing.TB, path string, text []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// at returns a package of a file or a folder.
func at(path string) *Package {
	return &Package{Address: random, Version: "3.6.0", Platform: "linux_amd64", Path: path}
}

func TestInstall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	mirror := t.TempDir()
	home := filepath.Join(mirror, DefaultHost, "hashicorp", "random")
	file := write(t, filepath.Join(home, zipName(random, "3.6.0", "linux_amd64")),
		packed(t, "LICENSE", "MPL", program, "binary", "docs/a.md", "a"))
	want, err := dirhash.HashZip(file, dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{Dir: t.TempDir()}
	source, err := Open(mirror, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions, err := source.Versions(ctx, random)
	if err != nil || !slices.Equal(versions, []string{"3.6.0"}) {
		t.Fatal(versions, err)
	}
	p, err := source.Find(ctx, random, "3.6.0", "linux_amd64")
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Install(ctx, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if i.Hashes[0] != want || !strings.HasPrefix(i.Hashes[1], SchemeArchive) {
		t.Errorf("hashes %v, want %s", i.Hashes, want)
	}
	if info, err := os.Stat(i.Executable); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the program is not executable: %v %v", info, err)
	}
	if _, err := s.Install(ctx, p, i.Hashes[:1]); err != nil {
		t.Error("installed twice:", err)
	}
	found, err := s.Find(ctx, random, "3.6.0", "linux_amd64")
	if err != nil || found.Digest != i.Digest || Check("x", found.Hashes, i.Hashes) != nil {
		t.Error(found, err)
	}
	// The store itself is a source of unpacked packages, with the same hash of the content.
	again := &Store{Dir: t.TempDir()}
	unpacked := &folder{s.Dir}
	if p, err = unpacked.Find(ctx, random, "3.6.0", "linux_amd64"); err != nil {
		t.Fatal(err)
	}
	if j, err := again.Install(ctx, p, i.Hashes); err != nil || j.Hashes[0] != want {
		t.Error(j, err)
	}
	if _, err := unpacked.Find(ctx, random, "3.6.0", "plan9_386"); !fault.Is(err, fault.NotFound) ||
		!strings.Contains(fault.HintOf(err), "linux_amd64") {
		t.Error(err)
	}
	if _, err := s.Find(ctx, random, "3.7.0", "linux_amd64"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	// A program that was changed is found by its hash, and an installation repairs it.
	write(t, found.Executable, []byte("other"))
	if found, err = s.Find(ctx, random, "3.6.0", "linux_amd64"); err != nil ||
		!fault.Is(Check("x", found.Hashes, i.Hashes), fault.Refused) {
		t.Error("a changed program is accepted", err)
	}
	if i, err = s.Install(ctx, at(file), i.Hashes); err != nil || i.Hashes[0] != want {
		t.Error(err)
	}
	if text, err := os.ReadFile(i.Executable); err != nil || string(text) != "binary" {
		t.Errorf("%s, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, ".install-*")); len(left) > 0 {
		t.Error("left behind:", left)
	}
}

// TestInstallRejects leaves nothing behind in the store.
func TestInstallRejects(t *testing.T) {
	t.Parallel()
	good := packed(t, program, "binary")
	for name, x := range map[string]struct {
		text    []byte
		allowed []string
		kind    fault.Kind
	}{
		"not a zip file":        {[]byte("#!/bin/sh\n"), nil, fault.Invalid},
		"empty":                 {nil, nil, fault.Invalid},
		"damaged":               {good[:len(good)-30], nil, fault.Invalid},
		"no program":            {packed(t, "README", "x"), nil, fault.Invalid},
		"program in a folder":   {packed(t, "bin/"+program, "x"), nil, fault.Invalid},
		"program of another":    {packed(t, "terraform-provider-aws", "x"), nil, fault.Invalid},
		"two programs":          {packed(t, program, "x", program+"b", "y"), nil, fault.Invalid},
		"one name twice":        {packed(t, program, "x", program, "y"), nil, fault.Invalid},
		"out of the folder":     {packed(t, program, "x", "../evil", "y"), nil, fault.Invalid},
		"absolute":              {packed(t, program, "x", "/evil", "y"), nil, fault.Invalid},
		"a link":                {packed(t, program+"@", "/bin/sh"), nil, fault.Invalid},
		"no hash of the lock":   {good, []string{"zh:" + strings.Repeat("0", 64)}, fault.Refused},
		"a lock without hashes": {good, []string{}, fault.Refused},
	} {
		s := &Store{Dir: t.TempDir()}
		path := write(t, filepath.Join(t.TempDir(), "p.zip"), x.text)
		if i, err := s.Install(context.Background(), at(path), x.allowed); !fault.Is(err, x.kind) {
			t.Errorf("%s: got %v, %v", name, i, err)
		}
		if left, err := os.ReadDir(s.Dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", name, left, err)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(dir, program)); err != nil {
		t.Fatal(err)
	}
	s := &Store{Dir: t.TempDir()}
	if _, err := s.Install(context.Background(), at(dir), nil); !fault.Is(err, fault.Invalid) {
		t.Error("a link in a folder:", err)
	}
	for _, place := range []string{"http://x", "ftp://x", filepath.Join(dir, "none")} {
		if _, err := Open(place, nil); err == nil {
			t.Errorf("%s is a source", place)
		}
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	s := &Store{Dir: t.TempDir()}
	digest := strings.Repeat("0a", 32)
	if _, err := s.Schemas(digest); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	want := &wire.Schemas{Resources: map[string]wire.Schema{"x_y": {Version: 3}}}
	if err := s.KeepSchemas(digest, want); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Schemas(digest); err != nil || cmp.Diff(want, got) != "" {
		t.Error(err, cmp.Diff(want, got))
	}
	if err := s.KeepSchemas("../x", want); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
	write(t, filepath.Join(s.Dir, "schemas", digest+".json"), []byte("{"))
	if _, err := s.Schemas(digest); !fault.Is(err, fault.Damaged) {
		t.Error(err)
	}
}

const lock = `# This file is maintained automatically.
provider "registry.opentofu.org/hashicorp/random" {
  version     = "3.6.0"
  constraints = "~> 3.6"
  hashes = [
    "h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=",
    "zh:03360ed3ecd31e8c5dac9c95fe0858be50f3e9a0d0c654b5e504109c2159287d",
    "zz:later",
  ]
}
`

func TestLockHCL(t *testing.T) {
	t.Parallel()
	got, err := ReadLockHCL(write(t, filepath.Join(t.TempDir(), ".terraform.lock.hcl"), []byte(lock)))
	want := []Locked{{Address: random, Version: "3.6.0", Constraints: "~> 3.6", Hashes: []string{
		"h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=",
		"zh:03360ed3ecd31e8c5dac9c95fe0858be50f3e9a0d0c654b5e504109c2159287d"}}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	for text, want := range map[string]string{
		`provider "a/b" {`:                                                "x:1:16",
		`provider "a" { version = "1.0.0" }`:                              "does not have the form NAMESPACE/TYPE",
		`provider "a/b" {}`:                                               "no valid version",
		`provider "a/b" { version = "../../x" }`:                          "no valid version",
		`provider "a/b" { version = upper("1") }`:                         "version is not a literal value",
		"provider \"a/b\" {\n version = \"1.0.0\"\n hashes = \"h1:x\"\n}": "x:3:2: hashes is not a list",
		lock + lock:             "is there twice",
		`provider "a/b" "c" {}`: "one label",
	} {
		_, err := parseLockHCL("x", []byte(text))
		problems, _ := diag.Of(err)
		if len(problems) == 0 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func FuzzLockHCL(f *testing.F) {
	f.Add([]byte(lock))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parseLockHCL("x", text)
		if problems, more := diag.Of(err); err != nil && (len(problems) == 0 || more > 0) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !validVersion(e.Version) {
				t.Fatalf("version %q", e.Version)
			}
			if back, err := ParseAddress(e.Address.String()); err != nil || back != e.Address {
				t.Fatal(back, err)
			}
		}
	})
}

// FuzzInstall installs any bytes. Nothing is written outside of the store, and nothing stays there
// unless the package is good.
func FuzzInstall(f *testing.F) {
	f.Add(packed(f, "LICENSE", "x", program, "binary"))
	f.Add(packed(f, program+"@", "/bin/sh", "../x", "y"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		s := &Store{Dir: filepath.Join(dir, "store")}
		i, err := s.Install(context.Background(), at(write(t, filepath.Join(dir, "p.zip"), text)), nil)
		if left, _ := os.ReadDir(dir); len(left) != 2 {
			t.Fatal("written beside the store:", left)
		}
		left, _ := os.ReadDir(s.Dir)
		if err != nil && len(left) > 0 {
			t.Fatal("left behind:", left)
		}
		if err == nil {
			if _, err := os.Stat(i.Executable); err != nil {
				t.Fatal(err)
			}
		}
	})
}
