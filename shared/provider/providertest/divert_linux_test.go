package providertest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"southbound/shared/provider"
)

// TestCrashIsTold pins that what a process says when a handler makes it crash reaches whoever runs
// the test, although standard error is looked at for secrets meanwhile.
func TestCrashIsTold(t *testing.T) {
	const crashes = "PROVIDERTEST_CRASHES"
	if os.Getenv(crashes) != "" {
		s := twisted(func(w *twist) {
			w.update = func(*provider.Context, provider.UpdateRequest) (provider.Result, error) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					panic("in a goroutine that nobody guards")
				}()
				<-done
				return provider.Result{}, nil
			}
		})
		s.Alone = true
		only(t.Context(), t, s, "update")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashIsTold$")
	// What crashes cleans nothing up: its directories are below one of this test.
	cmd.Env = append(os.Environ(), crashes+"=yes", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"in a goroutine that nobody guards", "divert_linux_test.go:"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%v: it does not say %q:\n%s", err, want, out)
		}
	}
}
