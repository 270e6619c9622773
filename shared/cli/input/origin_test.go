package input

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"southbound/shared/deploy/state"
)

// TestSlowGit pins that a git that takes long is waited for, and that people read so: the origin of a
// version does not depend on the speed of a disk.
func TestSlowGit(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// it answers its first question once people have read that it is waited for
	script := fmt.Sprintf("#!/bin/sh\n[ -e %[1]s/asked ] || { : > %[1]s/asked; read x < %[2]s; }\n"+
		"case \"$*\" in *' var '*) echo 'A <a@example> 1 +0000';; *' log '*) "+
		"printf 'abc\\000subject';; esac\n", dir, fifo)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(authors(), "CI_COMMIT_TITLE", "GITHUB_SHA", "CI_COMMIT_SHA",
		"GIT_COMMIT") {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	said := ""
	got := OriginOf(t.Context(), func(format string, args ...any) {
		said += fmt.Sprintf(format, args...)
		if err := os.WriteFile(fifo, []byte("go on\n"), 0); err != nil {
			t.Error(err)
		}
	}, dir, state.Origin{})
	if want := (state.Origin{Author: "A <a@example>", Commit: "abc", Message: "subject"}); got !=
		want {
		t.Errorf("%+v, expected %+v", got, want)
	}
	if !strings.Contains(said, "git takes long") {
		t.Errorf("people read %q", said)
	}
}
