package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/deploytest"
)

// TestState pins that the model of State keeps the contract that the homes keep.
func TestState(t *testing.T) {
	t.Parallel()
	deploytest.TestState(t, func(*testing.T) deploytest.StateHarness {
		s, dead, n := NewState(), false, 0
		s.Dead = func(holder string) bool { return dead && strings.HasPrefix(holder, "A") }
		name := func(process string) func() string {
			return func() string {
				n++
				return fmt.Sprintf("%s#%d", process, n)
			}
		}
		return deploytest.StateHarness{A: s, B: s, HolderA: name("A"), HolderB: name("B"),
			KillA: func() { dead = true }, Serial: true}
	})
}

// TestFiles pins the same of Files.
func TestFiles(t *testing.T) {
	t.Parallel()
	deploytest.TestFiles(t, func(*testing.T) deploytest.FilesHarness {
		f := NewFiles()
		f.Now = time.Now
		return deploytest.FilesHarness{A: f, B: f, Serial: true, Damage: func(hash string) {
			f.stored[hash] = stored{data: []byte("other bytes")}
		}}
	})
}

var _ state.State = (*State)(nil)
