//go:build servers

package compile

import (
	"log/slog"
	"regexp"
	"slices"
	"testing"

	"southbound/functions/internal/run"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/service/fulfil"
)

// TestPasswords has a model generate a password in two functions, each with files of its own, and
// wants it to be the same.
func TestPasswords(t *testing.T) {
	s := newStand(t)
	s.offer(sites + "\nstd::print(\"it is \" + std::generate_password(\"db\"))\n")
	var lines hometest.Lines
	log := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, name := range []string{"one", "two"} {
		id := s.order(name)
		fresh := &stand{t, &function{
			Function: &run.Function{Home: s.f.Home, Log: log, Metrics: s.f.Metrics},
			dir:      t.TempDir(), limits: s.f.limits, mapper: s.f.mapper,
			workers: map[string]*fulfil.Worker{}, caller: s.f.caller,
		}}
		fresh.serve(fresh.receive())
		fresh.up(id)
	}
	said := regexp.MustCompile(`it is \w{20}`).FindAllString(lines.String(), -1)
	if len(said) < 2 || len(slices.Compact(slices.Clone(said))) != 1 {
		t.Errorf("the passwords: %q", said)
	}
}
