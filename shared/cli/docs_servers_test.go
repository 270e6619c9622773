//go:build servers

package cli_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"southbound/shared/buildtest"
	"southbound/shared/transport/ssh/sshtest"
)

// TestCookbookOverSSH does what docs/hosts.md shows, with three servers of OpenSSH.
func TestCookbookOverSSH(t *testing.T) {
	t.Parallel()
	var agents []string
	for _, name := range []string{"web1", "web2", "db1"} {
		options := sshtest.Start(t, sshtest.Self(t), "").Options("transport", "ssh", "lanes", 4,
			"directory", filepath.Join(t.TempDir(), name))
		b, err := json.Marshal(options)
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, "  "+name+": "+string(b))
	}
	everyDay(t, filepath.Dir(buildtest.Program(t, buildtest.Southbound)), agents...)
}
