package option_test

import (
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/transport/option"
)

// TestUnknown pins that every option that there is not is named, with the nearest that there is.
func TestUnknown(t *testing.T) {
	t.Parallel()
	got := option.Unknown("tin", map[string]any{"zz": 1, "hots": 2, "host": 3, "lane": 4}, []string{"host", "port"})
	if len(got) != 3 || got[1].Attribute != "lane" || !strings.Contains(got[1].Hint, `"lanes"`) || got[0].Attribute != "hots" || !strings.Contains(got[0].Hint, `"host"`) || got[2].Attribute != "zz" || !strings.Contains(got[2].Hint, "host, port") {
		t.Errorf("%+v", got)
	}
}

// TestRefuse pins that the first problem is the error, and that a secret which has been resolved is
// none.
func TestRefuse(t *testing.T) {
	t.Parallel()
	secret := diag.Problem{Attribute: "password", Message: option.LiteralSecret}
	if err := option.Refuse([]diag.Problem{secret}); err != nil {
		t.Error(err)
	}
	err := option.Refuse([]diag.Problem{secret, {Attribute: "port", Message: "it is too large", Hint: "write 22"}})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "port: it is too large") || fault.HintOf(err) != "write 22" {
		t.Error(err)
	}
}
