package callback

import (
	"strings"
	"testing"
)

// TestGuard refuses connections to what is around a machine, whatever name led there.
func TestGuard(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"169.254.169.254:80":           "link-local",
		"[::ffff:169.254.169.254]:80":  "link-local",
		"[fe80::1]:443":                "link-local",
		"[fd00:ec2::254]:80":           "link-local",
		"0.0.0.0:80":                   "of no host",
		"[::]:80":                      "of no host",
		"224.0.0.1:80":                 "of many hosts",
		"255.255.255.255:80":           "of many hosts",
		"127.0.0.1:9001":               "this machine",
		"[::1]:80":                     "this machine",
		"[::ffff:127.8.9.10]:80":       "this machine",
		"10.0.0.1:80":                  "",
		"203.0.113.7:443":              "",
		"[2001:db8::1]:443":            "",
		"a name that was not resolved": "is not a valid address",
	} {
		got := ""
		if err := guard(false)("tcp", address, nil); err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, and not %q", address, got, want)
		}
	}
	for _, address := range []string{"127.0.0.1:80", "[::1]:80"} {
		if err := guard(true)("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := guard(true)("tcp", "169.254.169.254:80", nil); err == nil {
		t.Error("link-local addresses are called where those of this machine are")
	}
}

// TestRefusedCall wants a call to say what is refused, without a connection.
func TestRefusedCall(t *testing.T) {
	t.Parallel()
	err := NewCaller(false, 0).call(t.Context(), "http://localhost:1/x", "i/1", nil)
	if err == nil || !strings.Contains(err.Error(), "is not called: it is this machine") {
		t.Error(err)
	}
}
