// Package stacks reads the outputs of stacks from CloudFormation, and deletes stacks and their
// remains.
package stacks

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
)

// deleting is the longest time that Delete waits for the deletion of a stack.
const deleting = 30 * time.Minute

// Stacks accesses the stacks of an account and a region, or of an emulator.
type Stacks struct {
	aws  aws.Config
	api  *cloudformation.Client
	path bool // S3 addresses buckets by path
}

// Open finds credentials and the region as all AWS tools do. The endpoint is that of an emulator,
// or empty.
func Open(ctx context.Context, endpoint string) (*Stacks, error) {
	c, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, awserr.Fault("find credentials", err)
	}
	if endpoint != "" {
		c.BaseEndpoint = &endpoint
	}
	return &Stacks{aws: c, api: cloudformation.NewFromConfig(c), path: endpoint != ""}, nil
}

// Outputs returns the outputs of a stack. If the stack does not exist, Outputs returns a
// fault.NotFound.
func (s *Stacks) Outputs(ctx context.Context, name string) (map[string]string, error) {
	stack, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, o := range stack.Outputs {
		out[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return out, nil
}

// Parameters returns the parameters of a stack. If the stack does not exist, Parameters returns a
// fault.NotFound.
func (s *Stacks) Parameters(ctx context.Context, name string) (map[string]string, error) {
	stack, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range stack.Parameters {
		out[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
	}
	return out, nil
}

func (s *Stacks) find(ctx context.Context, name string) (types.Stack, error) {
	out, err := s.api.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	switch {
	case awserr.Is(err, "ValidationError") && strings.Contains(err.Error(), "does not exist"),
		err == nil && len(out.Stacks) == 0:
		return types.Stack{}, noStack(name)
	case err != nil:
		return types.Stack{}, awserr.Fault("read stack "+name, err)
	}
	return out.Stacks[0], nil
}

func noStack(name string) error {
	return fault.New(fault.NotFound, "",
		"there is no stack %q in this region of this account", name)
}

// Delete deletes a stack and waits until it is deleted. A stack that does not exist is not an
// error.
func (s *Stacks) Delete(ctx context.Context, name string) error {
	stack, err := s.find(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := s.api.DeleteStack(ctx,
		&cloudformation.DeleteStackInput{StackName: stack.StackId}); err != nil {
		return awserr.Fault("delete stack "+name, err)
	}
	wait := cloudformation.NewStackDeleteCompleteWaiter(s.api,
		func(o *cloudformation.StackDeleteCompleteWaiterOptions) {
			o.MinDelay, o.MaxDelay = time.Second, 15*time.Second
		})
	return awserr.Fault("wait until stack "+name+" is deleted",
		wait.Wait(ctx, &cloudformation.DescribeStacksInput{StackName: stack.StackId}, deleting))
}

// Remains returns the remains of a stack, given the names of its bucket and its tables.
func (s *Stacks) Remains(bucket string, tables ...string) *Remains {
	return &Remains{Objects: s3.NewFromConfig(s.aws, func(o *s3.Options) {
		o.UsePathStyle = s.path
	}), Tables: dynamodb.NewFromConfig(s.aws), Bucket: bucket, Names: tables}
}
