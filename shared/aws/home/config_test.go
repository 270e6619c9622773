package home_test

import (
	"testing"
	"time"

	"southbound/shared/aws/home"
	"southbound/shared/fault"
)

// TestIdleDays pins how the days are read after which agents sleep.
func TestIdleDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason, days string
		want         time.Duration
		fails        bool
	}{
		{"not said", "", 0, false},
		{"whole days", "14", 14 * 24 * time.Hour, false},
		{"a part of a day", "0.5", 12 * time.Hour, false},
		{"never", "0", -1, false},
		{"no number", "soon", 0, true},
		{"negative", "-1", 0, true},
		{"more than anybody means", "1e9", 0, true},
		{"not a number", "NaN", 0, true},
	} {
		got, err := home.FromEnv(func(name string) string {
			return map[string]string{home.EnvTable: "t", home.EnvBucket: "b", home.EnvPrefix: "p",
				home.EnvIdleDays: c.days}[name]
		})
		if (err != nil) != c.fails || (err != nil && !fault.Is(err, fault.Usage)) ||
			(err == nil && got.IdleAfter != c.want) {
			t.Errorf("%s: %v, %v", c.reason, got.IdleAfter, err)
		}
	}
}
