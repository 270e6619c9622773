package main_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUnitLetsCommandsFinish pins that a service that is stopped lets what handlers run finish, as
// docs/systemd.md says. By default systemd sends the signal to all processes of the service, and so
// to commands; and it must not kill what the program still waits for, which takes up to 10 seconds
// after that.
func TestUnitLetsCommandsFinish(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("..", "..", "infra", "systemd", "southbound.service"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	said := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "Environment="), "=")
		said[name] = value
	}
	if said["KillMode"] != "mixed" || said["KillSignal"] != "SIGTERM" {
		t.Errorf("the signal %q, KillMode %q", said["KillSignal"], said["KillMode"])
	}
	grace, err := time.ParseDuration(said["SOUTHBOUND_GRACE"])
	if err != nil {
		t.Fatal(err)
	}
	wait, err := time.ParseDuration(said["TimeoutStopSec"])
	if err != nil {
		t.Fatal(err)
	}
	if grace != 2*time.Minute || wait <= grace+10*time.Second {
		t.Errorf("what runs gets %v, and after %v all is killed", grace, wait)
	}
}
