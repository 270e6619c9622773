package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestMemory pins that a slow source is read once for concurrent calls, that an error is not
// remembered, and that a value of another version than the wanted one is not used for long.
func TestMemory(t *testing.T) {
	t.Parallel()
	var m memory
	key := resource.Secret{Source: "command:x"}
	reads, version := 0, "1"
	find := func(want string, fail error) (found, error) {
		return m.find(t.Context(), key, want, valueAge, func() (found, error) {
			reads++
			return found{"value " + version, version}, fail
		})
	}
	if _, err := find("", errors.New("first")); err == nil || reads != 1 {
		t.Errorf("%v after %d reads", err, reads)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, err := find("1", nil); err != nil || got.value != "value 1" {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	wg.Wait()
	if reads != 2 {
		t.Errorf("%d reads of one value", reads-1)
	}
	version = "2"
	e := m.entry(key)
	e.at = e.at.Add(-2 * versionAge)
	if got, _ := find("1", nil); got.version != "1" || reads != 2 {
		t.Errorf("version %s after %d reads: the wanted one was known", got.version, reads)
	}
	if got, _ := find("2", nil); got.version != "2" || reads != 3 {
		t.Errorf("version %s after %d reads: another was wanted", got.version, reads)
	}
	e.at = e.at.Add(-2 * valueAge)
	if _, _ = find("2", nil); reads != 4 {
		t.Error("a value is used for ever")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e.turn <- struct{}{}
	if _, err := m.find(ended, key, "2", valueAge, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("it waits for another call: %v", err)
	}
}

// TestCommandSecrets pins that a command runs once for one export and its runs, that its version is
// a keyed hash of the value, and that a process with clients runs none unless it is told to.
func TestCommandSecrets(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	home := &Home{Dir: t.TempDir()}
	s := home.Secrets()
	ref := resource.Secret{Source: `command:["sh", "-c", "echo >> ` + count + `; echo secret"]`}
	version, err := s.Version(t.Context(), ref)
	if err != nil || len(version) != 32 {
		t.Fatalf("version %q, %v", version, err)
	}
	ref.Version = version
	value, again, err := s.Resolve(t.Context(), ref)
	if err != nil || value != "secret" || again != version {
		t.Errorf("%q of version %q, %v", value, again, err)
	}
	if b, _ := os.ReadFile(count); strings.Count(string(b), "\n") != 1 {
		t.Errorf("the command ran %d times", len(b))
	}
	home.ForClients()
	other := resource.Secret{Source: "command:echo other"}
	if _, err := s.Version(t.Context(), other); !fault.Is(err, fault.Denied) ||
		!strings.Contains(fault.HintOf(err), commandsVariable+"=yes") {
		t.Errorf("commands of clients: %v (%s)", err, fault.HintOf(err))
	}
	t.Setenv(commandsVariable, "yes")
	if value, _, err := s.Resolve(t.Context(), other); err != nil || value != "other" {
		t.Errorf("it is permitted: %q, %v", value, err)
	}
	if err := CheckSecret(t.Context(), resource.Secret{Source: "command:false"}); err == nil {
		t.Error("a command that fails is set")
	}
}
