package run

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"southbound/shared/api"
)

// Called returns a context with the caller of a request, whom AWS has authenticated.
func (f *Function) Called(
	ctx context.Context, e *events.LambdaFunctionURLRequest,
) context.Context {
	return api.WithCaller(ctx, callerOf(e, f.Home.Config.ReadOnlyRoles))
}

// callerOf returns the caller of a request. If AWS does not name the caller, as an emulator does
// not, the caller has no name.
func callerOf(e *events.LambdaFunctionURLRequest, readOnly []string) api.Caller {
	c := api.Caller{Via: api.ViaIAM}
	if a := e.RequestContext.Authorizer; a != nil && a.IAM != nil {
		c.User = a.IAM.UserARN
	}
	if name := roleOf(c.User); name != "" {
		c.ReadOnly = slices.Contains(readOnly, name)
	}
	return c
}

// roleOf returns the name of the role or the user of an ARN, without its path; "" if it has none.
func roleOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6) // arn:aws:sts::123456789012:assumed-role/NAME/SESSION
	if len(parts) < 6 {
		return ""
	}
	kind, rest, _ := strings.Cut(parts[5], "/")
	switch kind {
	case "assumed-role":
		name, _, _ := strings.Cut(rest, "/")
		return name
	case "user", "role":
		return rest[strings.LastIndexByte(rest, '/')+1:]
	}
	return ""
}
