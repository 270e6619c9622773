package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/transport"
)

const maxName = 80 // characters in the name of a queue, including its ending

// Name returns the name of an agent's queue. It consists of readable parts of environment and
// agent, and a hash of their full names. The hash distinguishes names that are long, similar or
// contain unusual characters.
func Name(prefix, env, agent string) string {
	const ending = ".fifo"
	tail := "-" + hashOf(env + "\x00" + agent)[:12] + ending
	room := maxName - len(tail)
	name := NamePrefix(prefix) + slug(env) + "-" + slug(agent)
	if len(name) > room {
		name = name[:room]
	}
	return strings.TrimRight(name, "-") + tail
}

// NamePrefix returns the prefix of the names of all queues of a stack. Names of queues of a stack
// with a longer prefix may begin with it, too.
func NamePrefix(prefix string) string { return slug(prefix) + "-" }

// hashOf returns hexadecimal digits of the SHA-256 of a text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// slug replaces the characters that a queue's name may not contain by dashes.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, text)
}

// plain reports whether a text may be the id of a message group.
func plain(text string) bool {
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return text != ""
}

// InFunction reports whether the Python function serves an agent, and no other process.
func InFunction(a resource.Agent) bool { return a.Transport == transport.NameFunction }

// Readable returns a function with the reason why the process that serves an agent cannot read a kind
// of secrets; nil: it can. A runner reads the secrets of its machine, and a function has no machine.
// byRunner reports whether a runner serves an agent.
func Readable(
	byRunner func(a resource.Agent) bool,
) func(a resource.Agent, source resource.SecretSource) error {
	return func(a resource.Agent, source resource.SecretSource) error {
		if !source.Machine || byRunner(a) {
			return nil
		}
		return unreadable(a, source)
	}
}

func unreadable(a resource.Agent, source resource.SecretSource) error {
	err := fault.New(fault.Unsupported, "",
		"a function serves the agent %q with the transport %s, and functions read no secrets of %s:",
		a.Name, a.Transport, source.Scheme)
	if a.Transport == transport.NameSSH {
		return err.WithHint("set `runner: true` for the agent and run `southbound agent run %s` where "+
			"the secret is, or keep it in Parameter Store (ssm:/name) or Secrets Manager "+
			"(secretsmanager:id)", a.Name)
	}
	return err.WithHint("keep the secret in Parameter Store (ssm:/name) or Secrets Manager " +
		"(secretsmanager:id), or move the resource to an agent that `southbound agent run` serves")
}
