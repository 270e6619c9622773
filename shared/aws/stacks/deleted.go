package stacks

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
)

// Gone returns outputs of the most recently deleted stack of a name. By these outputs the remains
// of the stack are found: Prefix, HandlerFunction, DeadLetters, Table, OwnTable, Bucket and OwnKey.
// CloudFormation keeps deleted stacks for 90 days. If there is none, Gone returns a fault.NotFound.
func (s *Stacks) Gone(ctx context.Context, name string) (map[string]string, error) {
	id, err := s.lastDeleted(ctx, name)
	if err != nil {
		return nil, err
	}
	stack, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	made, err := s.made(ctx, id)
	if err != nil {
		return nil, err
	}
	return outputsOf(id, &stack, made)
}

// lastDeleted returns the id of the most recently deleted stack of a name.
func (s *Stacks) lastDeleted(ctx context.Context, name string) (string, error) {
	var last types.StackSummary
	pages := cloudformation.NewListStacksPaginator(s.api, &cloudformation.ListStacksInput{
		StackStatusFilter: []types.StackStatus{types.StackStatusDeleteComplete}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", awserr.Fault("list deleted stacks", err)
		}
		for _, one := range page.StackSummaries {
			if aws.ToString(one.StackName) == name && (last.StackId == nil ||
				aws.ToTime(one.DeletionTime).After(aws.ToTime(last.DeletionTime))) {
				last = one
			}
		}
	}
	if last.StackId == nil {
		return "", noStack(name)
	}
	return *last.StackId, nil
}

// made returns the physical ids of the resources of a deleted stack, by their logical ids. It reads
// them from the stack's events, which also include resources that were retained.
func (s *Stacks) made(ctx context.Context, id string) (map[string]string, error) {
	out := map[string]string{}
	pages := cloudformation.NewDescribeStackEventsPaginator(s.api,
		&cloudformation.DescribeStackEventsInput{StackName: &id})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Fault("read the resources of the deleted stack", err)
		}
		for i := range page.StackEvents { // newest first
			e := &page.StackEvents[i]
			name, physical := aws.ToString(e.LogicalResourceId), aws.ToString(e.PhysicalResourceId)
			if out[name] == "" && physical != "" {
				out[name] = physical
			}
		}
	}
	if out["Table"] == "" || out["Bucket"] == "" || out["DeadLetters"] == "" {
		return nil, fault.New(fault.Foreign, "read the resources of the deleted stack",
			"%s had no table, no bucket or no queue for dead letters: it is not one of "+
				"Southbound's", id)
	}
	return out, nil
}

// outputsOf computes outputs from a stack's id, as template.yaml does, and from the resources that
// it had.
func outputsOf(
	id string, stack *types.Stack, made map[string]string,
) (map[string]string, error) {
	at, err := arn.Parse(id)
	parts := strings.Split(at.Resource, "/") // stack, name, UUID
	if err != nil || len(parts) != 3 {
		return nil, fault.New(fault.Foreign, "read stack", "%s is not the id of a stack", id)
	}
	unique, _, _ := strings.Cut(parts[2], "-")
	at.Service, at.Resource = "sqs", made["DeadLetters"][strings.LastIndexByte(
		made["DeadLetters"], '/')+1:]
	out := map[string]string{"Prefix": "sb-" + unique, "HandlerFunction": "sb-" + unique +
		"-handler", "DeadLetters": at.String(), "Table": made["Table"], "Bucket": made["Bucket"]}
	for _, p := range stack.Parameters {
		if aws.ToString(p.ParameterKey) == "RestoredTable" && aws.ToString(p.ParameterValue) != "" {
			out["Table"], out["OwnTable"] = *p.ParameterValue, made["Table"]
		}
	}
	if key := made["Key"]; key != "" {
		at.Service, at.Resource = "kms", "key/"+key
		out["OwnKey"] = at.String()
	}
	return out, nil
}
