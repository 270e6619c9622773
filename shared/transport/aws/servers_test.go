//go:build servers

package aws_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sts"

	"southbound/localstack/server"
	"southbound/shared/transport/aws"
)

// TestRole assumes a role, with an endpoint and an external id, and is known by the agent's name.
func TestRole(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "testtest")
	s, err := server.Start(t.Context(), server.MiniStack)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	var sessions aws.Sessions
	defer sessions.Close()
	conn, err := sessions.Connect(t.Context(), "web 1/ü",
		map[string]any{"region": "eu-west-1", "endpoint": s.URL,
			"role": "arn:aws:iam::123456789012:role/deploy", "external_id": "me-and-you"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	credentials, err := conn.Config().Credentials.Retrieve(t.Context())
	if err != nil || credentials.SessionToken == "" || credentials.AccessKeyID == "test" {
		t.Errorf("the credentials are not those of a role: %v", err)
	}
	who, err := client(conn).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || !strings.Contains(*who.Arn, "role/deploy/southbound-web-1") {
		t.Errorf("%v, %v", who, err)
	}
}
