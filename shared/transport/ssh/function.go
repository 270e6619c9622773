package ssh

import (
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// ByRunner reports whether a runner on a machine of users serves an agent with these options, and
// not a function. This is so if the options set it, or if they name data that a function lacks.
// Such data are files, ssh-agent, a user with keys and known hosts, and secrets of the machine.
func ByRunner(options map[string]any) bool {
	for _, ref := range resource.References(options) {
		if s, ok := ref.(resource.Secret); ok {
			if kind, _ := resource.SecretSourceOf(s.Source); kind.Machine {
				return true
			}
		}
	}
	if options["runner"] == true || hopByRunner(options) {
		return true
	}
	switch jump := options["jump"].(type) {
	case map[string]any:
		return hopByRunner(jump)
	case []any:
		for _, one := range jump {
			if m, _ := one.(map[string]any); hopByRunner(m) {
				return true
			}
		}
	}
	return false
}

func hopByRunner(options map[string]any) bool {
	return options["key_file"] != nil || options["known_hosts"] != nil ||
		options["agent"] == true || options["host_key"] == nil ||
		options["key"] == nil && options["password"] == nil || options["user"] == nil
}

// refuse returns why a function does not connect with options.
func refuse() error {
	return provider.Errorf(provider.Terminal, "%w",
		fault.New(fault.Unsupported, "connect",
			"a function has no files, no ssh-agent and no known hosts").
			WithHint("set user, host_key, and key or password as a secret of ssm: or "+
				"secretsmanager:; or serve the agent with `southbound agent run NAME`"))
}
