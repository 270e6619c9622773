package run

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// TestCaller pins who a caller is, and who may only read.
func TestCaller(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, arn string
		readOnly bool
	}{
		{"a session of a role", "arn:aws:sts::123456789012:assumed-role/viewers/ann@example.com", true},
		{"another role", "arn:aws:sts::123456789012:assumed-role/deployers/viewers", false},
		{"a user with a path", "arn:aws-cn:iam::123456789012:user/team/ops/watcher", true},
		{"a user with such a path", "arn:aws:iam::123456789012:user/viewers/bob", false},
		{"the account itself", "arn:aws:iam::123456789012:root", false},
		{"no ARN", "viewers", false},
		{"not said", "", false},
	} {
		e := &events.LambdaFunctionURLRequest{}
		if c.arn != "" {
			e.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{
				IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserARN: c.arn}}
		}
		got := callerOf(e, []string{"viewers", "watcher"})
		if got.User != c.arn || got.ReadOnly != c.readOnly || got.Via != "iam" {
			t.Errorf("%s: %+v", c.why, got)
		}
	}
}
