package callback_test

import (
	"os"
	"strings"
	"testing"

	"southbound/shared/service/callback"
)

// TestSignature holds a signature that the documentation has, too, so that receivers can check their
// code with it.
func TestSignature(t *testing.T) {
	t.Parallel()
	const key, at, body = "a key of the documentation", "1790000000", `{"seq": 4}`
	got := callback.Signature([]byte(key), at, []byte(body))
	page, err := os.ReadFile("../../../docs/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{key, at, body, got, callback.TimeHeader, callback.SignatureHeader} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/catalog.md lacks %q", want)
		}
	}
	for name, other := range map[string]string{
		"key":  callback.Signature([]byte(key+"x"), at, []byte(body)),
		"time": callback.Signature([]byte(key), "1790000001", []byte(body)),
		"body": callback.Signature([]byte(key), at, []byte(body+" ")),
	} {
		if other == got {
			t.Errorf("another %s has the same signature", name)
		}
	}
}

// TestKeySources holds which secrets a callback may name as its key.
func TestKeySources(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		"": true, "env:CALLBACK_SHOP": true, "ssm:/southbound/callbacks/shop": true,
		"secretsmanager:southbound/callbacks/shop": true,
		"env:SHOP_PASSWORD":                        false, "env:callback_shop": false, "file:/etc/shadow": false,
		"file:/etc/southbound/callbacks/shop": false, "ssm:/shop/password": false,
		"ssm:/southbound/callbacks/../password": false, "secretsmanager:shop": false,
		"a secret itself": false,
	} {
		c := callback.Callback{URL: "https://shop.example/", Secret: source}
		err := c.Check()
		if (err == nil) != want {
			t.Errorf("%q: %v", source, err)
		}
		if err != nil && source != "" && strings.Contains(err.Error(), source) {
			t.Errorf("%q is shown, and could be the secret itself", source)
		}
	}
}
