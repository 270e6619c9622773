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

// Target names a stack for List and Destroy: the outputs Prefix, HandlerFunction and DeadLetters of
// template.yaml.
type Target struct {
	Prefix      string
	Function    string
	DeadLetters string
	// Endpoint of an emulator; empty: AWS, in the account and the region that the environment of
	// this process names.
	Endpoint string
}

// Open returns a provisioner that can do List and Destroy, and nothing that needs a state.
func Open(ctx context.Context, t Target) (*Provisioner, error) {
	c, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, awserr.Fault("find credentials", err)
	}
	if t.Endpoint != "" {
		c.BaseEndpoint = aws.String(t.Endpoint)
	}
	return New(Config{SQS: sqs.NewFromConfig(c), Lambda: lambda.NewFromConfig(c),
		Clock: platform.Clock{}, Prefix: t.Prefix, Function: t.Function,
		DeadLetters: t.DeadLetters})
}
