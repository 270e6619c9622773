package declared

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// project writes a lock file and files of declarations into a directory.
func project(t *testing.T, lock string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, LockFile), []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const thing = head + "name: tf::demo::Thing\n"

// entry is a provider of a lock file.
func entry(name, file, text string) string {
	return fmt.Sprintf("  - name: %s\n    bridge: tf\n    address: example.org/%s\n    version: 1.0.0\n"+
		"    declarations: {file: %s, digest: \"sha256:%s\"}\n", name, name, file, HashOf([]byte(text)))
}

const lockHead = "southbound_lock: 1\nproviders:\n"

// TestReadLock reads a lock file in YAML and in JSON.
func TestReadLock(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a": thing}
	for _, text := range []string{
		lockHead + entry("demo", "a", thing),
		fmt.Sprintf(`{"southbound_lock": 1, "providers": [{"name": "demo", "bridge": "tf", "address": "example.org/demo",
			"version": "1.0.0", "constraint": "~> 1.0", "hashes": ["h1:x", "zh:y"],
			"declarations": {"file": "a", "digest": "sha256:%s"}}]}`, HashOf([]byte(thing))),
	} {
		lock, err := ReadLock(project(t, text, files), program(t))
		if err != nil {
			t.Fatal(err)
		}
		types := lock.Types()
		if len(types) != 1 || types[0].Name != "tf::demo::Thing" || lock.Providers[0].Version != "1.0.0" {
			t.Errorf("%+v", lock)
		}
	}
	if lock, err := ReadLock(t.TempDir(), program(t)); lock != nil || err != nil || lock.Types() != nil {
		t.Errorf("without a lock file: %v, %v", lock, err)
	}
}

// TestLockRefused has the lock files that are refused, with the place and the reason.
func TestLockRefused(t *testing.T) {
	t.Parallel()
	one := entry("demo", "a", thing)
	wrong := strings.Replace(thing, "tf::", "net::", 1)
	for name, c := range map[string]struct{ text, want string }{
		"not YAML":      {"a: [", ":1:1: this is not valid YAML"},
		"empty":         {"", ":1:1: this is not valid YAML"},
		"two documents": {lockHead + one + "---\n{}\n", "a lock file is one document"},
		"a list":        {"- 1\n", ":1:1: a lock file is a map"},
		"no format":     {"providers: []\n", "lacks its format"},
		"other format":  {"southbound_lock: 2\n", ":1:18: this program reads lock files of format 1"},
		"member":        {lockHead + one + "provider: []\n", `:8:1: a lock file has no member "provider"`},
		"twice":         {lockHead + one + entry("demo", "b", thing), ":8:11: the provider demo is there twice, first at"},
		"same type":     {lockHead + one + entry("other", "b", thing), "tf::demo::Thing: the type is declared twice, first at"},
		"no version":    {strings.Replace(lockHead+one, "    version: 1.0.0\n", "", 1), ":3:5: version is missing"},
		"not a text":    {strings.Replace(lockHead+one, "1.0.0", "[1]", 1), ":6:14: version is a line of text"},
		"hashes":        {lockHead + one + "    hashes: x\n", "hashes is a list"},
		"outside":       {lockHead + entry("demo", "../a", thing), `"../a" is outside of the directory`},
		"missing":       {lockHead + entry("demo", "c", thing), ":7:26: the declarations of demo cannot be read"},
		"damaged":       {lockHead + entry("demo", "a", wrong), "differs from the lock file"},
		"program's":     {lockHead + entry("demo", "n", wrong), "cannot have a name that begins with net::"},
		"other bridge":  {strings.Replace(lockHead+one, "bridge: tf", "bridge: pp", 1), "its name does not begin with pp::, the bridge of demo"},
		"large":         {lockHead + one + "# " + strings.Repeat("x", maxLock), "it is larger than 1024 KiB"},
		"many":          {lockHead + strings.Repeat(one, maxProviders+1), "providers has more than 64 items"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := project(t, c.text, map[string]string{"a": thing, "b": thing, "n": wrong})
			lock, err := ReadLock(dir, program(t))
			if lock != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzLock holds that no text makes the reader fail otherwise than by an error.
func FuzzLock(f *testing.F) {
	f.Add(lockHead + entry("demo", "a", thing))
	f.Add("southbound_lock: &a 1\nproviders: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		if lock, err := ReadLock(project(t, text, map[string]string{"a": thing}), program(t)); err == nil && lock == nil {
			t.Error("nothing was read")
		}
	})
}
