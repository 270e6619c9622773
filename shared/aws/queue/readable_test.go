package queue_test

import (
	"strings"
	"testing"

	"southbound/shared/aws/queue"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/transport"
)

// TestReadable pins which secrets the process of an agent can read on AWS, and the cure otherwise.
func TestReadable(t *testing.T) {
	t.Parallel()
	reached := map[string]any{"user": "u", "host_key": "k",
		"key": resource.Secret{Source: "ssm:/key"}}
	for _, c := range []struct {
		why       string
		transport string
		options   map[string]any
		source    string
		hint      string // "": readable
	}{
		{why: "a runner has a machine", source: "command:pass show db"},
		{why: "as the transport local", transport: "local", source: "sops:a.yaml#b"},
		{why: "a function has none", transport: "aws", source: "command:pass show db",
			hint: "move the resource to an agent that `southbound agent run` serves"},
		{why: "nor files", transport: "http", source: "sops:/a.yaml#b", hint: "ssm:/name"},
		{why: "nor a server of vault", transport: "aws", source: "vault:a/b#c", hint: "ssm:/name"},
		{why: "nor variables of users", transport: "aws", source: "env:A", hint: "ssm:/name"},
		{why: "the stores of AWS", transport: "aws", source: "ssm:/a"},
		{why: "the stores of AWS", transport: "http", source: "secretsmanager:a#b"},
		{why: "a function reaches the machine", transport: "ssh", options: reached,
			source: "file:/a", hint: "set `runner: true` for the agent and run `southbound agent run web1`"},
		{why: "a runner reaches the machine", transport: "ssh", source: "file:/a",
			options: map[string]any{"user": "u", "key_file": "/k"}},
		{why: "the function of Python", transport: "function", source: "env:A", hint: "ssm:/name"},
	} {
		source, known := resource.SecretSourceOf(c.source)
		err := queue.Readable(transport.Packs{}.ByRunner)(resource.Agent{Name: "web1", Transport: c.transport,
			Options: c.options}, source)
		switch {
		case !known:
			t.Errorf("%s: there is no source of %s", c.why, c.source)
		case c.hint == "" && err == nil:
		case c.hint == "" || !fault.Is(err, fault.Unsupported) ||
			!strings.Contains(fault.HintOf(err), c.hint) ||
			!strings.Contains(err.Error(), `agent "web1"`) ||
			!strings.Contains(err.Error(), source.Scheme+":"):
			t.Errorf("%s: %s of %q: %v, hint %q; expected %q", c.why, c.source, c.transport, err,
				fault.HintOf(err), c.hint)
		}
	}
}
