//go:build servers

package sops_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// TestReadsSops pins that files are read that the program sops writes now, with each rule of what is
// encrypted, and after it has rotated their keys.
func TestReadsSops(t *testing.T) {
	program, err := server.InstallSops(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOPS_AGE_KEY", key(t, "key"))
	t.Setenv("SOPS_AGE_KEY_FILE", "")
	recipient := between(key(t, "all.yaml"), "recipient: ", "\n")
	dir := t.TempDir()
	sops := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("sops %s: %v, %s", strings.Join(args, " "), err, out)
		}
	}
	const yaml = "# first\na: 1\nb: [x, {c: 2.5, d: false}]\ne: 2024-01-02T03:04:05Z # at the end\n" +
		"f: ~\ng: ''\nh: 0o17\ni: 1e300\nj: -0\nk: {l: {m: {n: \"o\"}}}\n"
	for name, flags := range map[string][]string{
		"all": nil, "encrypted": {"--encrypted-suffix", "b"}, "clear": {"--unencrypted-suffix", "k"},
		"regex": {"--encrypted-regex", "^[ck]$"}, "not": {"--unencrypted-regex", "^[ae]$"},
		"mac": {"--encrypted-regex", "^[ck]$", "--mac-only-encrypted"},
	} {
		file := name + ".yaml"
		if err := os.WriteFile(filepath.Join(dir, file), []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		sops(append([]string{"encrypt", "--age", recipient, "--in-place", file}, flags...)...)
		for range 2 {
			for path, want := range map[string]string{"a": "1", "b/0": "x", "b/1/c": "2.5",
				"b/1/d": "false", "g": "", "k/l/m/n": "o", "e": "2024-01-02T03:04:05Z"} {
				got, err := reader().Read(filepath.Join(dir, file) + "#" + path)
				if err != nil || got != want {
					t.Errorf("%s: %s is %q, %v; want %q", name, path, got, err, want)
				}
			}
			sops("rotate", "--in-place", file)
		}
	}
}
