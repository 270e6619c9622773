package sops_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/internal/secretsource/sops"
)

// reader reads files of testdata, which sops 3.11.0 has encrypted for the key testdata/key.
func reader() *sops.Reader {
	return &sops.Reader{File: func(path string) (string, error) {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", fault.New(fault.NotFound, "resolve secret", "%v", err).WithHint("name another")
		}
		return string(b), err
	}}
}

func key(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRead pins which values are read, in each format.
func TestRead(t *testing.T) {
	t.Setenv("SOPS_AGE_KEY", "")
	t.Setenv("SOPS_AGE_KEY_FILE", filepath.Join("testdata", "key"))
	r := reader()
	for name, want := range map[string]string{
		"all.yaml#db/password":         "s3cr3t-of-yaml",
		"all.yaml#db/port":             "5432",
		"all.yaml#db/ratio":            "1.5",
		"all.yaml#db/tls":              "true",
		"all.yaml#db/empty":            "",
		"all.yaml#db/text":             "two\nlines\n",
		"all.yaml#users/1/name":        "b",
		"all.yaml#users/1/more/0":      "x",
		"all.yaml#plain_unencrypted/a": "seen",
		"all.yaml#plain_unencrypted/n": "7",
		"regex.yaml#password":          "s3cr3t-of-regex",
		"regex.yaml#port":              "5432",
		"regex.yaml#when":              "2024-01-02T00:00:00Z",
		"all.json#db/password":         "s3cr3t-of-json",
		"all.json#db/port":             "5432",
		"all.json#list/1":              "y",
		"all.env#PASSWORD":             "s3cr3t-of-env",
		"all.env#TEXT":                 "two\nlines",
		"binary#data":                  "any\ntext\n",
	} {
		got, err := r.Read("testdata/" + name)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v (%s); want %q", name, got, err, fault.HintOf(err), want)
		}
	}
}

// TestBad pins what is said of a key or a file that does not serve, and that it is never the value.
func TestBad(t *testing.T) {
	const ours = "AGE-SECRET-KEY-1"
	dir := t.TempDir()
	change := func(name, file, from, to string) string {
		text := key(t, file)
		if !strings.Contains(text, from) {
			t.Fatalf("%s has no %q", file, from)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Replace(text, from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	all := filepath.Join("testdata", "all.yaml")
	right := key(t, "key")
	data := between(key(t, "all.yaml"), "password: ENC[AES256_GCM,data:", ",")
	for _, test := range []struct {
		why, key, file, name string
		kind                 fault.Kind
		says                 string
	}{
		{"no key", "", "", all + "#db/password", fault.Invalid, "there is no age key"},
		{"no key at all", "hunter2", "", all + "#db/password", fault.Invalid,
			"SOPS_AGE_KEY holds no age key"},
		{"broken key", right[:len(right)-9], "", all + "#db/password", fault.Invalid,
			"SOPS_AGE_KEY holds no age key"},
		{"no file of keys", "", "testdata/none", all + "#db/password", fault.Invalid,
			"SOPS_AGE_KEY_FILE: "},
		{"no key in the file", "", all, all + "#db/password", fault.Invalid,
			"SOPS_AGE_KEY_FILE (testdata/all.yaml) holds no age key"},
		{"another key", key(t, "other"), "", all + "#db/password", fault.Denied,
			"the key of SOPS_AGE_KEY is none of those that open it: it is encrypted for age1"},
		{"unknown kind of recipient", right, "", change("r1.yaml", "all.yaml", "IFgyNTUxOSBP", // " X25519 O"
			"IFgyNTUxMCBP") + "#db/password", fault.Denied, // " X25510 O"
			"the key of SOPS_AGE_KEY is none of those that open it: it is encrypted for age1"},
		{"no such file", right, "", "testdata/none.yaml#a", fault.NotFound, "no such file"},
		{"no such value", right, "", all + "#db/pass", fault.NotFound,
			"it has no value at db/pass"},
		{"beyond a list", right, "", all + "#users/9/name", fault.NotFound, "it has no value at users/9"},
		{"through a text", right, "", all + "#db/password/a", fault.NotFound, "it has no value at"},
		{"a map", right, "", all + "#db", fault.Invalid, "db holds other values"},
		{"null", right, "", all + "#db/nothing", fault.NotFound, "is null"},
		{"not encrypted", right, "", write("plain.yaml", "a: hunter2\n") + "#a", fault.Invalid,
			"it is not encrypted by sops"},
		{"no YAML", right, "", write("bad.yaml", "a: 'hunter2\n") + "#a", fault.Invalid,
			"it is not a valid YAML file"},
		{"a list", right, "", write("list.yaml", "- hunter2\n") + "#0", fault.Invalid,
			"it is not a valid YAML map"},
		{"no JSON", right, "", write("bad.json", `{"a": "hunter2"`) + "#a", fault.Invalid,
			"it is not a valid JSON object"},
		{"deep", right, "", write("deep.json", strings.Repeat(`{"a":`, 999)+"1"+
			strings.Repeat("}", 999)) + "#a", fault.Invalid, "it is not a valid JSON object"},
		{"INI", right, "", write("a.ini", "[a]\nb=c\n") + "#a", fault.Unsupported,
			"INI files are not read"},
		{"changed value", right, "", change("c1.yaml", "all.yaml", data, "AAAA"+data[4:]) +
			"#db/port", fault.Damaged, "the value at db/password is damaged"},
		{"cut value", right, "", change("c2.yaml", "all.yaml", "data:"+data, "data:") + "#db/port",
			fault.Damaged, "the value at db/password is damaged"},
		{"value in the clear", right, "", change("c3.yaml", "all.yaml",
			"ENC[AES256_GCM,data:"+data, "hunter2"+data) + "#db/port", fault.Damaged,
			"the value at db/password is damaged"},
		{"changed clear value", right, "", change("c4.yaml", "all.yaml", "a: seen", "a: hunter2") +
			"#db/port", fault.Damaged, "(mac) does not fit"},
		{"removed clear value", right, "", change("c5.yaml", "all.yaml", "a: seen", "b: seen") +
			"#plain_unencrypted/b", "", ""},
		{"moved value", right, "", change("c6.yaml", "all.yaml", "    port:", "    prot:") +
			"#db/prot", fault.Damaged, "the value at db/prot is damaged"},
		{"another time", right, "", change("c7.yaml", "all.yaml", "lastmodified: \"20", "lastmodified: \"21") +
			"#db/port", fault.Damaged, "(mac) does not fit"},
		{"no code", right, "", change("c8.yaml", "all.yaml", "\n    mac:", "\n    mic:") + "#db/port",
			fault.Damaged, "the metadata of sops is damaged"},
		{"changed data key", right, "", change("c9.yaml", "all.yaml", "\n            YWdl", "\n            YWdm") +
			"#db/port", fault.Damaged, "the data key for age1"},
		{"groups", right, "", change("c10.yaml", "all.yaml", "\n    mac:",
			"\n    key_groups: [{age: []}]\n    mac:") + "#db/port", fault.Unsupported, "key_groups"},
		{"only PGP", right, "", change("c11.yaml", "all.yaml", "\n    age:",
			"\n    pgp: [{fp: A}]\n    aeg:") + "#db/port", fault.Invalid, "it is encrypted for pgp"},
		{"comments decide", right, "", change("c12.yaml", "all.yaml", "unencrypted_suffix: _unencrypted",
			"encrypted_comment_regex: x") + "#db/port", fault.Unsupported, "encrypted_comment_regex"},
		{"another rule", right, "", change("c13.yaml", "all.yaml", "unencrypted_suffix: _unencrypted",
			"unencrypted_suffix: ted") + "#db/port", "", ""},
		{"all in the clear", right, "", change("c14.yaml", "all.yaml", "unencrypted_suffix: _unencrypted",
			"encrypted_regex: none") + "#db/port", fault.Damaged, "(mac) does not fit"},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Setenv("SOPS_AGE_KEY", test.key)
			t.Setenv("SOPS_AGE_KEY_FILE", test.file)
			_, err := reader().Read(test.name)
			if fault.KindOf(err) != test.kind || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Fatalf("the error is %v (%s), want %s, %q", err, fault.KindOf(err), test.kind, test.says)
			}
			if err == nil {
				return
			}
			for _, text := range []string{err.Error(), fault.HintOf(err)} {
				for _, secret := range []string{"hunter2", "s3cr3t", "seen", ours + "Q"} {
					if text == "" || strings.Contains(text, secret) {
						t.Errorf("the error is %q", text)
					}
				}
			}
			file, _, _ := strings.Cut(test.name, "#")
			if !strings.Contains(err.Error(), file) {
				t.Errorf("the error does not name the file: %v", err)
			}
		})
	}
}

func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	part, _, _ := strings.Cut(rest, to)
	return part
}

// TestRotation pins that a changed file is read again, and that a key that is gone opens nothing.
func TestRotation(t *testing.T) {
	t.Setenv("SOPS_AGE_KEY_FILE", "")
	t.Setenv("SOPS_AGE_KEY", key(t, "key"))
	text := key(t, "all.json")
	r := &sops.Reader{File: func(string) (string, error) { return text, nil }}
	if got, err := r.Read("f.json#db/password"); err != nil || got != "s3cr3t-of-json" {
		t.Fatalf("%q, %v", got, err)
	}
	text = key(t, "next.json")
	if got, err := r.Read("f.json#db/password"); err != nil || got != "next-of-json" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("SOPS_AGE_KEY", key(t, "other"))
	if _, err := r.Read("f.json#db/password"); !fault.Is(err, fault.Denied) {
		t.Errorf("with another key: %v", err)
	}
}

// FuzzRead pins that no file and no name panics, and that none is read that sops has not written.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"all.yaml", "regex.yaml", "all.json", "all.env", "binary"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, string(b), "db/password")
	}
	f.Setenv("SOPS_AGE_KEY_FILE", filepath.Join("testdata", "key"))
	f.Fuzz(func(t *testing.T, name, text, path string) {
		r := &sops.Reader{File: func(path string) (string, error) {
			if path == filepath.Join("testdata", "key") {
				b, err := os.ReadFile(path)
				return string(b), err
			}
			return text, nil
		}}
		if _, err := r.Read(name + "#" + path); err != nil && fault.KindOf(err) == fault.Unknown {
			t.Errorf("an error without a kind: %v", err)
		}
	})
}
