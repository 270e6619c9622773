package handlers

import (
	"slices"
	"testing"

	"southbound/shared/schema"
)

// TestPasswordsAreOneLine pins that each sensitive attribute is a password, and so without the line
// end of the file that it was read from, or a key, which is taken as it is.
func TestPasswordsAreOneLine(t *testing.T) {
	keys := []string{"git::Checkout ssh_key"}
	for _, d := range All() {
		registry, err := schema.NewRegistry(d.Type)
		if err != nil {
			t.Fatal(err)
		}
		typ, _ := registry.Type(d.Type.Name)
		for _, a := range typ.Attributes {
			name := d.Type.Name + " " + a.Name
			if a.Sensitive && a.OneLine == slices.Contains(keys, name) {
				t.Errorf("%s: one line is %t", name, a.OneLine)
			}
		}
	}
}

// TestBytesAreBytes pins that attributes for content, and for what programs read, are not OneLine.
func TestBytesAreBytes(t *testing.T) {
	left := map[string]string{"fs::File": "content", "fs::Line": "block", "aws::s3::Object": "content",
		"aws::ssm::Parameter": "value", "exec::Run": "environment", "http::Object": "secrets",
		"cron::Job": "input"}
	for _, d := range All() {
		for _, a := range d.Type.Attributes {
			if a.Name != left[d.Type.Name] {
				continue
			}
			delete(left, d.Type.Name)
			if a.OneLine {
				t.Errorf("%s %s: one line", d.Type.Name, a.Name)
			}
		}
	}
	if len(left) > 0 {
		t.Error(left)
	}
}
