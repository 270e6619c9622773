package transport_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/transport"
	"southbound/shared/transport/aws"
	"southbound/shared/transport/http"
	"southbound/shared/transport/postgresql"
	"southbound/shared/transport/ssh"
)

// secrets answers every reference with one value.
type secrets string

func (s secrets) Resolve(context.Context, resource.Secret) (value, version string, err error) {
	return string(s), "1", nil
}

func TestConnect(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "testtest")
	region := map[string]any{"region": "eu-central-1"}
	for _, c := range []struct {
		why   string
		c     transport.Connector
		agent resource.Agent
		kind  fault.Kind
		hint  string
	}{
		{"the machine itself", transport.Connector{Local: true}, resource.Agent{Transport: "local"},
			"", ""},
		{"an agent without a transport is local", transport.Connector{Local: true},
			resource.Agent{}, "", ""},
		{"a function is not an agent's machine", transport.Connector{},
			resource.Agent{Name: "web1", Transport: "local"}, fault.Unsupported,
			"southbound agent run web1"},
		{"an account", transport.Connector{AWS: &aws.Sessions{}},
			resource.Agent{Transport: "aws", Options: region}, "", ""},
		{"a process that serves no AWS", transport.Connector{Local: true},
			resource.Agent{Transport: "aws", Options: region}, fault.Unsupported, ""},
		{"a region is needed", transport.Connector{AWS: &aws.Sessions{}},
			resource.Agent{Transport: "aws"}, fault.Invalid, "region: eu-central-1"},
		{"a function's own rights are not lent",
			transport.Connector{AWS: &aws.Sessions{RoleRequired: true}},
			resource.Agent{Transport: "aws", Options: region},
			fault.Unsupported, "role: ARN"},
		{"a role is taken where one is needed",
			transport.Connector{AWS: &aws.Sessions{RoleRequired: true}},
			resource.Agent{Transport: "aws",
				Options: map[string]any{"region": "eu-west-1", "profile": "p",
					"role": "arn:aws:iam::123456789012:role/r"}}, fault.Unsupported, "profile"},
		{"a secret in options is resolved",
			transport.Connector{AWS: &aws.Sessions{}, Secrets: secrets("us-east-1")},
			resource.Agent{Transport: "aws",
				Options: map[string]any{"region": resource.Secret{Source: "env:R"}}}, "", ""},
		{"a secret that nobody resolves", transport.Connector{AWS: &aws.Sessions{}},
			resource.Agent{Transport: "aws",
				Options: map[string]any{"region": resource.Secret{Source: "env:R"}}}, fault.Invalid,
			""},
		{"a process that serves no machines",
			transport.Connector{Local: true, AWS: &aws.Sessions{}},
			resource.Agent{Transport: "ssh"}, fault.Unsupported, "local, aws"},
		{"a machine without a host", transport.Connector{SSH: &ssh.Sessions{}},
			resource.Agent{Transport: "ssh"}, fault.Invalid, "host: web1"},
		{"a transport of another program", transport.Connector{Local: true, SSH: &ssh.Sessions{}},
			resource.Agent{Transport: "winrm"}, fault.Unsupported, "local, ssh"},
		{"an API", transport.Connector{HTTP: &http.Sessions{}, Secrets: secrets("s3cr3t")},
			resource.Agent{Transport: "http",
				Options: map[string]any{"url": "https://h",
					"token": resource.Secret{Source: "env:R"}}},
			"", ""},
		{"an API without a place", transport.Connector{HTTP: &http.Sessions{}},
			resource.Agent{Transport: "http"}, fault.Invalid, "url: https"},
		{"a server", transport.Connector{PostgreSQL: &postgresql.Sessions{},
			Secrets: secrets("s3cr3t")}, resource.Agent{Transport: "postgresql",
			Options: map[string]any{"host": "db", "password": resource.Secret{Source: "env:R"}}},
			"", ""},
		{"a process that serves no APIs", transport.Connector{Local: true},
			resource.Agent{Transport: "http"}, fault.Unsupported, "there are local"},
	} {
		conn, err := c.c.Connect(t.Context(), c.agent)
		if fault.KindOf(err) != c.kind || !strings.Contains(fault.HintOf(err), c.hint) {
			t.Errorf("%s: %v (%s), hint %q; expected %q, hint with %q", c.why, err,
				fault.KindOf(err), fault.HintOf(err), c.kind, c.hint)
		}
		if closer, ok := conn.(io.Closer); ok {
			_ = closer.Close()
		} else if err == nil && conn != any(transport.Local{}) {
			t.Errorf("%s: the connection is %T", c.why, conn)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why     string
		options map[string]any
		want    string // attribute: part of message, of each problem
	}{
		{"all options", map[string]any{"region": "us-gov-west-1",
			"role": "arn:aws-us-gov:iam::123456789012:role/a/b", "external_id": "x-1",
			"profile": "p q"[:1], "endpoint": "http://[::1]:1"}, ""},
		{"references are known later",
			map[string]any{"region": resource.Parameter{Name: "r"},
				"role": resource.Secret{Source: "ssm:/r"}}, ""},
		{"nothing", nil, ": needs a region"},
		{"misspelt", map[string]any{"region": "eu-west-1", "rol": "x"}, "rol: no option"},
		{"no region", map[string]any{"region": "Frankfurt"}, "region: not valid"},
		{"not text", map[string]any{"region": int64(1)}, "region: not valid"},
		{"a user, no role", map[string]any{"region": "eu-west-1",
			"role": "arn:aws:iam::123456789012:user/a"}, "role: not valid"},
		{"an id without a role", map[string]any{"region": "eu-west-1", "external_id": "abc"},
			"external_id: of no use"},
		{"an address with a path", map[string]any{"region": "eu-west-1",
			"endpoint": "http://h/path"}, "endpoint: not valid"},
		{"an address with a password",
			map[string]any{"region": "eu-west-1", "endpoint": "http://u:p@h"},
			"endpoint: without a user"},
	} {
		problems := transport.Check(resource.Agent{Name: "a", Transport: "aws", Options: c.options})
		attribute, part, _ := strings.Cut(c.want, ": ")
		switch {
		case c.want == "" && len(problems) > 0:
			t.Errorf("%s: %v", c.why, problems)
		case c.want != "" && (len(problems) != 1 || problems[0].Attribute != attribute ||
			!strings.Contains(problems[0].Message+problems[0].Hint, part)):
			t.Errorf("%s: %v, expected %s", c.why, problems, c.want)
		}
	}
	if p := transport.Check(resource.Agent{Transport: "winrm",
		Options: map[string]any{"host": "x"}}); len(p) != 1 || p[0].Attribute != "transport" ||
		!strings.Contains(p[0].Message, `"winrm"`) ||
		!strings.Contains(p[0].Hint, "local, ssh, http") {
		t.Errorf("a transport that there is not: %v", p)
	}
	if p := transport.Check(resource.Agent{Transport: "SHS"}); len(p) != 1 ||
		p[0].Attribute != "transport" || !strings.Contains(p[0].Hint, `"ssh"`) {
		t.Errorf("a transport that is misspelt: %v", p)
	}
	if p := transport.Check(resource.Agent{Transport: "local",
		Options: map[string]any{"lane": 4}}); len(p) != 1 || p[0].Attribute != "lane" ||
		!strings.Contains(p[0].Hint, `"lanes"`) {
		t.Errorf("an option that this machine does not have: %v", p)
	}
}
