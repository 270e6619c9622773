package programcmd

import (
	"testing"

	"southbound/shared/cli/home"
)

func TestRelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, want string
		release   release
	}{
		{"built outside of git", "1.2.0", release{Version: "1.2.0"}},
		{"built from a commit", "1.2.0 (commit abc)", release{Version: "1.2.0", Revision: "abc"}},
		{
			"built from what is not committed", "1.2.0 (commit abc, with changes)",
			release{Version: "1.2.0", Revision: "abc", Modified: true},
		},
	} {
		if got := c.release.String(); got != c.want {
			t.Errorf("%s: %q, expected %q", c.why, got, c.want)
		}
	}
	if r := released(); r.Version != home.Version || r.Build == "" || r.Go == "" {
		t.Errorf("of this program: %+v", r)
	}
}
