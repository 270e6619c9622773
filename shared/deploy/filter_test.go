package deploy_test

import (
	"strings"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// TestParseFilterRefuses pins that nothing which can be misread selects more than was meant.
func TestParseFilterRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		terms []string
		want  string
	}{
		"nothing, as from a variable that is not set": {[]string{""}, "empty term"},
		"nothing beside something": {[]string{"type=fs::File", ""},
			"empty term"},
		"two ids": {
			[]string{"fs::File[a,path=/x]", "fs::File[a,path=/y]"}, "two ids"},
		"a key twice": {[]string{"type=fs::File", "type=std::Null"},
			"type= is there twice"},
		"a key that is not known": {[]string{"host=web1"},
			`unknown key "host"`},
		"a status that is not known": {[]string{"status=fine"},
			`unknown status "fine"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := state.ParseFilter(c.terms)
			if !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v; want %q", c.terms, err, c.want)
			}
		})
	}
}
