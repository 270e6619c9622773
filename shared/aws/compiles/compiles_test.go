package compiles

import (
	"testing"

	"southbound/shared/fault"
)

func TestForeignMessagesAreRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "x", "{}", `{"v":2,"env":"e"}`,
		`{"v":1,"env":"f1/../default"}`} {
		if _, err := Decode(body); !fault.Is(err, fault.Foreign) {
			t.Errorf("%q: %v", body, err)
		}
	}
}
