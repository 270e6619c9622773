package state_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"southbound/shared/deploy/state"
)

// TestReleasesAreBounded notes many releases with long messages.
func TestReleasesAreBounded(t *testing.T) {
	t.Parallel()
	var e state.Env
	for i := range 3 * state.MaxReleases {
		before := e
		e.NoteRelease(state.Release{Version: i, Message: strings.Repeat("é", i*10)})
		if before == e {
			t.Fatal("an environment with another release is the same")
		}
	}
	list := *e.Releases
	if len(list) != state.MaxReleases || list[len(list)-1].Version != 3*state.MaxReleases-1 ||
		list[0].Version != 2*state.MaxReleases {
		t.Errorf("%d releases, from %d", len(list), list[0].Version)
	}
	for _, r := range list {
		if len(r.Message) > 210 || !utf8.ValidString(r.Message) {
			t.Error(fmt.Sprint("a message of ", len(r.Message), " bytes"))
		}
	}
}
