package callback

import (
	"strings"
	"testing"
)

// TestGuard refuses connections to what is around a machine, whatever name led there.
func TestGuard(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"169.254.169.254:80":              "link-local",
		"[::ffff:169.254.169.254]:80":     "link-local",
		"[fe80::1]:443":                   "link-local",
		"[fd00:ec2::254]:80":              "link-local",
		"0.0.0.0:80":                      "of no host",
		"[::]:80":                         "of no host",
		"224.0.0.1:80":                    "of many hosts",
		"255.255.255.255:80":              "of many hosts",
		"127.0.0.1:9001":                  "this machine",
		"[::1]:80":                        "this machine",
		"[::ffff:127.8.9.10]:80":          "this machine",
		"[fe80::1%eth0]:443":              "link-local",
		"[64:ff9b::a9fe:a9fe]:80":         "link-local",
		"[64:ff9b::169.254.169.254]:80":   "link-local",
		"[64:ff9b::7f00:1]:80":            "this machine",
		"[64:ff9b::]:80":                  "of no host",
		"[64:ff9b::e000:1]:80":            "of many hosts",
		"[64:ff9b::ffff:ffff]:80":         "of many hosts",
		"[64:ff9b:1::a9fe:a9fe]:80":       "link-local", // a prefix of 96 bits
		"[64:ff9b:1:a9fe:a9:fe00::]:80":   "link-local", // of 48
		"[64:ff9b:1:a9:fe:a9fe::]:80":     "link-local", // of 56
		"[64:ff9b:1:0:a9:fea9:fe00::]:80": "link-local", // of 64
		"[64:ff9b:1:7f00:0:100::]:80":     "this machine",
		"[64:ff9b:1::7f00:1]:80":          "this machine",
		"[2002:a9fe:a9fe::]:80":           "link-local",
		"[2002:a9fe:a9fe:1::5]:80":        "link-local",
		"[2002:7f00:1::1]:80":             "this machine",
		"[2002:e000:1::]:80":              "of many hosts",
		"[2002::]:80":                     "of no host",
		"[64:ff9b::cb00:7107]:443":        "", // 203.0.113.7
		"[64:ff9b:1::cb00:7107]:443":      "",
		"[64:ff9b::a00:1]:80":             "", // 10.0.0.1
		"[2002:cb00:7107::1]:443":         "",
		"[64:ff9c::a9fe:a9fe]:80":         "",
		"[2003:a9fe:a9fe::]:80":           "",
		"10.0.0.1:80":                     "",
		"203.0.113.7:443":                 "",
		"[2001:db8::1]:443":               "",
		"a name that was not resolved":    "is not a valid address",
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
	err := NewCaller(false, 0).call(t.Context(), "http://localhost:1/x", "i/1", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "is not called: it is this machine") {
		t.Error(err)
	}
}

// TestParse refuses addresses that name what is never called, in each form of such an address.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"169.254.169.254", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]",
		"[2002:a9fe:a9fe::1]", "[fd00:ec2::254]",
	} {
		_, err := parse("http://" + host + "/latest/")
		if err == nil || !strings.Contains(err.Error(), "is never called: it is link-local") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := parse("https://[64:ff9b::cb00:7107]/x"); err != nil {
		t.Error(err)
	}
}
