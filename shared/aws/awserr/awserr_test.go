package awserr_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
)

func api(code string, f smithy.ErrorFault) error {
	return &smithy.OperationError{ServiceID: "S", OperationName: "O",
		Err: &smithy.GenericAPIError{Code: code, Message: "m", Fault: f}}
}

func status(code int, err error) error {
	return &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: code}}, Err: err}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason  string
		err     error
		want    fault.Kind
		passing bool
	}{
		{"a lost condition is for the caller to decide",
			api(awserr.ConditionFailed, smithy.FaultClient), fault.Conflict, false},
		{"throttling passes", api("ProvisionedThroughputExceededException", smithy.FaultClient),
			fault.Unavailable, true},
		{"an S3 race of two conditional writes passes",
			api(awserr.ConditionalConflict, smithy.FaultClient), fault.Unavailable, true},
		{"an S3 condition that did not hold", api(awserr.PreconditionFailed, smithy.FaultClient),
			fault.Conflict, false},
		{"a policy", api("AccessDeniedException", smithy.FaultClient), fault.Denied, false},
		{"credentials that ran out", api("ExpiredToken", smithy.FaultClient), fault.Denied, false},
		{"a quota", api("LimitExceededException", smithy.FaultClient), fault.Full, false},
		{"a table that is not there", api("ResourceNotFoundException", smithy.FaultClient),
			fault.NotFound, false},
		{"bytes that do not match", api(awserr.BadDigest, smithy.FaultClient), fault.Invalid,
			false},
		{"our own mistake", api("ValidationException", smithy.FaultClient), fault.Internal, false},
		{"a new code of the server's fault", api("Brandnew", smithy.FaultServer), fault.Unavailable,
			true},
		{"a new code of ours", api("Brandnew", smithy.FaultClient), fault.Internal, false},
		{"a proxy's 503 without a code", status(503, errors.New("x")), fault.Unavailable, true},
		{"a 404 without a code, as HEAD gives", status(404, errors.New("x")), fault.NotFound,
			false},
		{"a 412 without a code", status(412, errors.New("x")), fault.Conflict, false},
		{"no answer at all", errors.New("dial tcp: connection refused"), fault.Unavailable, true},
		{"the caller gave up", fmt.Errorf("x: %w", context.Canceled), fault.Canceled, false},
		{"the time ran out", fmt.Errorf("x: %w", context.DeadlineExceeded), fault.Timeout, false},
		{"what has a kind keeps it", fault.New(fault.Fenced, "o", "m"), fault.Fenced, false},
	} {
		if got := fault.KindOf(awserr.Fault("op", c.err)); got != c.want {
			t.Errorf("%s: kind %q, want %q", c.reason, got, c.want)
		}
		if got := awserr.Passing(c.err); got != c.passing {
			t.Errorf("%s: passing %v", c.reason, got)
		}
	}
	if awserr.Fault("op", nil) != nil {
		t.Error("nil became an error")
	}
}
