package tool_test

import (
	"os"
	"strings"
	"testing"

	"southbound/handlers/internal/tool"
)

// TestSecretsAreNotHandedOn pins which variables a program gets: not those that may be secrets.
func TestSecretsAreNotHandedOn(t *testing.T) {
	for name, handed := range map[string]bool{"DB_PASSWORD": false, "SOUTHBOUND_TOKEN": false,
		"AWS_SECRET_ACCESS_KEY": false, "https_proxy": true, "PIP_INDEX_URL": false,
		"npm_config_registry": false, "DNF0": false, "PYENV_ROOT": true, "NETRC": true, "CFLAGS": true,
		"SSH_AUTH_SOCK": false} {
		t.Setenv(name, "some-value-of-"+name)
		out, err := tool.Run(t.Context(), []string{"OWN=x"}, "env")
		if err != nil || strings.Contains(out, "some-value-of-"+name) != handed ||
			!strings.Contains(out, "OWN=x") || !strings.Contains(out, "PATH=") {
			t.Errorf("%s: %v; expected %t in\n%s", name, err, handed, out)
		}
	}
}

// TestSettingsAreForOne pins that what is meant for one package manager, which may hold a login, is
// found by its prefix alone.
func TestSettingsAreForOne(t *testing.T) {
	for _, name := range []string{"PIP_INDEX_URL", "npm_config_registry", "DNF0"} {
		t.Setenv(name, "x")
	}
	if got := strings.Join(tool.Settings("NPM_", "DNF"), " "); !strings.Contains(got,
		"npm_config_registry=x") || !strings.Contains(got, "DNF0=x") ||
		strings.Contains(got, "PIP_") {
		t.Error(got)
	}
}

// TestAnotherUserGetsNoLogins pins that a program of another user has none of the logins that this
// process may have in its variables.
func TestAnotherUserGetsNoLogins(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only the superuser may become another user
	}
	for name, value := range map[string]string{"PIP_INDEX_URL": "https://me:hunter2@host/simple",
		"NPM_CONFIG__AUTH": "hunter2", "HTTPS_PROXY": "http://me:hunter2@proxy",
		"HTTP_PROXY": "http://proxy", "NETRC": "/root/hunter2", "XDG_CONFIG_HOME": "/hunter2",
		"GNUPGHOME": "/hunter2"} {
		t.Setenv(name, value)
	}
	const nobody = 65534
	out, err := tool.RunAs(t.Context(), tool.UserOf(nobody, nobody), nil, "env")
	if err != nil || strings.Contains(out, "hunter2") || !strings.Contains(out, "http://proxy") {
		t.Errorf("%v in\n%s", err, out)
	}
}
