package orders

import (
	"testing"
	"time"
)

// TestInstants reads times as clients write them.
func TestInstants(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2021-04-27+23:30:00": "2021-04-27T23:30:00Z", "2021-04-27 23:30:00": "2021-04-27T23:30:00Z",
		"2021-04-27T23:30:00.123456789": "2021-04-27T23:30:00.123456Z",
		"2021-04-27T23:30:00.5Z":        "2021-04-27T23:30:00.5Z",
		"2021-04-27T23:30:00+02:00":     "2021-04-27T21:30:00Z",
		"2021-04-27T23:30:00-01:30":     "2021-04-28T01:00:00Z",
		"2021-04-27":                    "2021-04-27T00:00:00Z", "2021-02-30": "2021-03-02T00:00:00Z",
		"": "", "2021": "", "2021-13-01": "", "2021-01-32": "", "2021-04-27T24:00:00": "",
		"2021-04-27T23:30": "", "2021-04-27T23:30:00x": "", "x2021-04-27": "",
	} {
		got, ok := instantOf(text)
		if !ok && want == "" {
			continue
		}
		if is := time.UnixMicro(got).UTC().Format(time.RFC3339Nano); !ok || is != want {
			t.Errorf("%q: %s, and not %s", text, is, want)
		}
	}
}
