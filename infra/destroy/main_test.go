//go:build servers

package main

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/localstack/server"
	"southbound/shared/aws/provision"
)

// TestDestroyOnAServer pins the flags, and that only --yes removes anything.
func TestDestroyOnAServer(t *testing.T) {
	s, err := server.Start(t.Context(), server.MiniStack)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	for _, v := range s.Environment() {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	const dead = "arn:aws:sqs:us-east-1:000000000000:dead.fifo"
	p, err := provision.Open(t.Context(), provision.Target{Prefix: "sb-1", Function: "sb-1-handler",
		DeadLetters: dead, Endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Queues().API.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String("dead.fifo"),
			Attributes: map[string]string{"FifoQueue": "true"}}); err != nil {
		t.Fatal(err)
	}
	p.Queues().Made = nil
	if _, err := p.Queues().Make(t.Context(), "prod", "web 1"); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"SOUTHBOUND_PREFIX": "sb-1", "SOUTHBOUND_HANDLER": "sb-1-handler",
			"SOUTHBOUND_DEAD_LETTERS": dead, "SOUTHBOUND_ENDPOINT": s.URL}[name]
	}
	for _, c := range []struct {
		args []string
		want string
	}{{nil, "web 1"}, {[]string{"--yes"}, "web 1"}, {[]string{"--yes"}, ""}} {
		var out strings.Builder
		if err := run(context.Background(), c.args, env, &out); err != nil ||
			strings.Contains(out.String(), `"agent":"web 1"`) != (c.want != "") {
			t.Errorf("%v: %v: %s", c.args, err, out.String())
		}
	}
	if err := run(t.Context(), nil, func(string) string { return "" }, nil); err == nil {
		t.Error("it ran without a stack")
	}
}
