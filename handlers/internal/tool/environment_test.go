package tool_test

import (
	"strings"
	"testing"

	"southbound/handlers/internal/tool"
)

// TestSecretsAreNotHandedOn pins which variables a program gets: not those that may be secrets.
func TestSecretsAreNotHandedOn(t *testing.T) {
	for name, handed := range map[string]bool{"DB_PASSWORD": false, "SOUTHBOUND_TOKEN": false,
		"AWS_SECRET_ACCESS_KEY": false, "https_proxy": true, "PIP_INDEX_URL": true,
		"npm_config_registry": true, "DNF0": true, "NETRC": true, "CFLAGS": true,
		"SSH_AUTH_SOCK": false} {
		t.Setenv(name, "some-value-of-"+name)
		out, err := tool.Run(t.Context(), []string{"OWN=x"}, "env")
		if err != nil || strings.Contains(out, "some-value-of-"+name) != handed ||
			!strings.Contains(out, "OWN=x") || !strings.Contains(out, "PATH=") {
			t.Errorf("%s: %v; expected %t in\n%s", name, err, handed, out)
		}
	}
}
