package secrets

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/smithy-go"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why             string
		source, version string
		want            reference
		bad             fault.Kind
	}{
		{"a path", "ssm:/a/b", "", reference{scheme: "ssm", name: "/a/b"}, ""},
		{"a word", "ssm:a.b", "", reference{scheme: "ssm", name: "a.b"}, ""},
		{"a version in the name", "ssm:/a:3", "",
			reference{scheme: "ssm", name: "/a", selector: "3"}, ""},
		{"what an export has found out wins over a label", "ssm:/a:prod", "7",
			reference{scheme: "ssm", name: "/a", selector: "7"}, ""},
		{"an ARN", "ssm:arn:aws:ssm:eu-west-1:123456789012:parameter/a/b:2", "",
			reference{scheme: "ssm", name: "arn:aws:ssm:eu-west-1:123456789012:parameter/a/b",
				region: "eu-west-1", selector: "2"}, ""},
		{"a secret", "secretsmanager:prod/db", "AWSPREVIOUS",
			reference{scheme: "secretsmanager", name: "prod/db", selector: "AWSPREVIOUS"}, ""},
		{"a member", "secretsmanager:prod/db#password", "",
			reference{scheme: "secretsmanager", name: "prod/db", key: "password"}, ""},
		{"a secret's ARN",
			"secretsmanager:arn:aws:secretsmanager:us-east-1:123456789012:secret:x-AbCdEf#k", "",
			reference{scheme: "secretsmanager",
				name:   "arn:aws:secretsmanager:us-east-1:123456789012:secret:x-AbCdEf",
				region: "us-east-1", key: "k"}, ""},
		{"of a machine", "env:X", "", reference{scheme: "machine"}, ""},
		{"no name", "ssm:", "", reference{}, fault.Invalid},
		{"a space", "ssm:/a b", "", reference{}, fault.Invalid},
		{"an ARN of something else", "ssm:arn:aws:s3:::b/k", "", reference{}, fault.Invalid},
		{"a version with a colon", "ssm:/a", "1:2", reference{}, fault.Invalid},
		{"no scheme", "x", "", reference{}, fault.Unsupported},
		{"no id", "secretsmanager:#k", "", reference{}, fault.Invalid},
	} {
		got, err := parse(resource.Secret{Source: c.source, Version: c.version})
		if fault.KindOf(err) != c.bad || err == nil && got != c.want {
			t.Errorf("%s: %+v, %v; expected %+v %s", c.why, got, err, c.want, c.bad)
		}
	}
}

// machine is state.Secrets of a machine.
type machine struct{}

func (machine) Resolve(context.Context, resource.Secret) (value, version string, err error) {
	return "value", "its version", nil
}

// TestMachine pins that secrets of a machine are handed on where there is one, and that AWS is not
// asked for.
func TestMachine(t *testing.T) {
	t.Parallel()
	s := New(Config{Machine: machine{}})
	value, version, err := s.Resolve(t.Context(), resource.Secret{Source: "env:X"})
	if value != "value" || version != "its version" || err != nil {
		t.Errorf("%q, %q, %v", value, version, err)
	}
	if version, err := s.Version(t.Context(),
		resource.Secret{Source: "file:/x"}); version != "its version" || err != nil {
		t.Errorf("%q, %v", version, err)
	}
	if version, err := s.Version(t.Context(),
		resource.Secret{Source: "file:/x", Version: "mine"}); version != "mine" || err != nil {
		t.Errorf("%q, %v", version, err)
	}
	_, _, err = New(Config{}).Resolve(t.Context(), resource.Secret{Source: "env:X"})
	if !fault.Is(err, fault.Unsupported) || fault.HintOf(err) == "" {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}

// TestWhatAWSSaid pins that an error of a secret tells what AWS said, and nothing of how it was
// asked.
func TestWhatAWSSaid(t *testing.T) {
	t.Parallel()
	r, err := parse(resource.Secret{Source: "secretsmanager:site/database"})
	if err != nil {
		t.Fatal(err)
	}
	const code = "ResourceNotFoundException"
	got := r.fault(&smithy.OperationError{ServiceID: "Secrets Manager",
		OperationName: "GetSecretValue",
		Err:           &smithy.GenericAPIError{Code: code, Message: "no such secret"}})
	if text := got.Error(); strings.Contains(text, "GetSecretValue") ||
		!strings.Contains(text, code) {
		t.Error(text)
	}
	if !fault.Is(got, fault.NotFound) || !awserr.Is(got, code) {
		t.Errorf("%v is of the kind %s", got, fault.KindOf(got))
	}
}
