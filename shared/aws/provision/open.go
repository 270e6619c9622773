package provision

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/awserr"
	"southbound/shared/platform"
)

// Target names a stack for List and Destroy: the outputs Prefix, HandlerFunction, PythonFunction and
// DeadLetters of template.yaml.
type Target struct {
	Prefix      string
	Function    string
	Python      string // empty: the stack has no Python function
	DeadLetters string
	// Endpoint is the URL of an emulator. If it is empty, requests go to AWS, with the account and
	// the region of this process's environment variables.
	Endpoint string
}

// Open returns a provisioner for List and Destroy. It has no state, so its other methods must not
// be used.
func Open(ctx context.Context, t Target) (*Provisioner, error) {
	c, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, awserr.Fault("find credentials", err)
	}
	if t.Endpoint != "" {
		c.BaseEndpoint = aws.String(t.Endpoint)
	}
	return New(Config{SQS: sqs.NewFromConfig(c), Lambda: lambda.NewFromConfig(c),
		Clock: platform.Clock{}, Prefix: t.Prefix, Function: t.Function, Python: t.Python,
		DeadLetters: t.DeadLetters})
}
