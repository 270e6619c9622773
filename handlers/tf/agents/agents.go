// Package agents declares the transport of agents that Terraform providers serve. It runs no provider,
// so the functions of the AWS home have it, which check and store such agents.
package agents

import (
	"context"
	"time"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Name is the name of the transport.
const Name = "terraform"

// Connect opens the connection of an agent, as provider.Transport.Connect does.
type Connect func(ctx context.Context, name string, options map[string]any) (any, error)

// Transport returns the transport. In the AWS home, runners serve its agents: a provider may have
// several hundred megabytes, and a call may last for hours.
func Transport(connect Connect) *provider.Transport {
	return &provider.Transport{
		Name: Name,
		Description: "A Terraform provider, which runs as a process of this program. One process serves all " +
			"agents with the same provider, configuration and variables.",
		Options: []schema.Attribute{
			{Name: "provider", Type: "String[1]", Description: "the address of the provider, such as " +
				"cyrilgdn/postgresql"},
			{Name: "config", Type: "Optional[Hash[String[1], Any]]",
				Description: "the configuration of the provider, by its own names"},
			{Name: "env", Type: "Optional[Hash[Pattern[/\\A[A-Za-z_][A-Za-z0-9_]*\\z/], String]]",
				Description: "environment variables of the process, besides PATH, proxies and certificates"},
		},
		Connect: connect, Limit: time.Minute, Runner: true,
	}
}

// Declared returns the transport for a program that runs no providers. Its agents cannot be connected.
func Declared() provider.Definition {
	return provider.Definition{Transport: Transport(func(_ context.Context, name string, _ map[string]any,
	) (any, error) {
		return nil, fault.New(fault.Unsupported, "connect", "this program runs no Terraform providers").
			WithHint("on a machine with the provider, run `southbound agent run %s`", name)
	})}
}
