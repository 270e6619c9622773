//go:build servers

package stack

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/localstack/server"
	"southbound/shared/fault"
)

// kept is a stack with what ours keeps, and what its outputs say.
const kept = `
Parameters:
  RestoredTable: {Type: String, Default: ""}
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    DeletionPolicy: Retain
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: k, AttributeType: S}]
      KeySchema: [{AttributeName: k, KeyType: HASH}]
  Bucket: {Type: AWS::S3::Bucket, DeletionPolicy: Retain}
  DeadLetters: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true}}
Outputs:
  Table: {Value: !Ref RestoredTable}
  OwnTable: {Value: !Ref Table}
  Bucket: {Value: !Ref Bucket}
  Prefix: {Value: sb-00000000}
  HandlerFunction: {Value: sb-00000000-handler}
  DeadLetters: {Value: !GetAtt DeadLetters.Arn}
  KeyArn: {Value: "arn:aws:kms:us-east-1:000000000000:key/of-somebody"}
`

// emulated returns an emulator of AWS, and how to ask it.
func emulated(t *testing.T) (endpoint string, c aws.Config) {
	t.Helper()
	emulator, err := server.Start(t.Context(), server.MiniStack)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(emulator.Stop)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_REGION", "us-east-1")
	if c, err = awsconfig.LoadDefaultConfig(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.BaseEndpoint = &emulator.URL
	return emulator.URL, c
}

// create makes a stack of a template with a parameter.
func create(t *testing.T, c *aws.Config, name, template, parameter, value string) {
	t.Helper()
	stacks := cloudformation.NewFromConfig(*c)
	if _, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: &template, Parameters: []cfntypes.Parameter{
			{ParameterKey: &parameter, ParameterValue: &value}}}); err != nil {
		t.Fatal(err)
	}
	if err := cloudformation.NewStackCreateCompleteWaiter(stacks,
		func(o *cloudformation.StackCreateCompleteWaiterOptions) {
			o.MinDelay = 10 * time.Millisecond
		}).Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name},
		time.Minute); err != nil {
		t.Fatal(err)
	}
}

// TestArchitectureStays pins for which processor functions are built when nobody says: that which
// the stack has, as CloudFormation keeps parameters that are not given.
func TestArchitectureStays(t *testing.T) {
	endpoint, c := emulated(t)
	create(t, &c, "there", `
Parameters:
  Architecture: {Type: String, Default: arm64}
Resources:
  Queue: {Type: AWS::SQS::Queue}
`, "Architecture", "x86_64")
	for _, one := range []struct {
		stack string
		given map[string]string
		want  string
	}{
		{"there", nil, "x86_64"},
		{"there", map[string]string{"Architecture": "arm64"}, "arm64"},
		{"new", nil, "arm64"},
		{"new", map[string]string{"Architecture": "x86_64"}, "x86_64"},
	} {
		s := Stack{Name: one.stack, Endpoint: endpoint}
		if got, err := s.BuildsFor(t.Context(), one.given); got != one.want || err != nil {
			t.Errorf("%s with %v is built for %q, %v; want %q", one.stack, one.given, got, err,
				one.want)
		}
	}
}

// TestDestroyAgain destroys a stack that is gone already, after an interruption or since its data
// was kept at first: all that it left is found by its name, a restored table and its own.
func TestDestroyAgain(t *testing.T) {
	endpoint, c := emulated(t)
	name, tables := "kept", dynamodb.NewFromConfig(c)
	if _, err := tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("restored"), BillingMode: ddbtypes.BillingModePayPerRequest,
		KeySchema: []ddbtypes.KeySchemaElement{
			{AttributeName: aws.String("k"), KeyType: ddbtypes.KeyTypeHash}},
		AttributeDefinitions: []ddbtypes.AttributeDefinition{
			{AttributeName: aws.String("k"), AttributeType: ddbtypes.ScalarAttributeTypeS}},
	}); err != nil {
		t.Fatal(err)
	}
	create(t, &c, name, kept, "RestoredTable", "restored")

	s := Stack{Name: name, Endpoint: endpoint}
	first, err := s.Destroy(t.Context(), false)
	if err != nil || first.Table != "restored" || first.OwnTable == "" || first.Bucket == "" {
		t.Fatalf("kept are %+v, %v", first, err)
	}
	if first.Key != "" {
		t.Errorf("the key %s is taken for one that the stack made", first.Key)
	}
	again, err := s.Destroy(t.Context(), false)
	if err != nil || again != first {
		t.Errorf("once more: kept are %+v, %v; want %+v", again, err, first)
	}
	for range 2 {
		if left, err := s.Destroy(t.Context(), true); err != nil || left != (Left{}) {
			t.Errorf("with its data: %+v, %v", left, err)
		}
	}
	list, err := tables.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(list.TableNames) > 0 {
		t.Errorf("left are the tables %v, %v", list, err)
	}
	buckets, err := s3.NewFromConfig(c).ListBuckets(t.Context(), &s3.ListBucketsInput{})
	if err != nil || len(buckets.Buckets) > 0 {
		t.Errorf("left are the buckets %v, %v", buckets, err)
	}
	other := Stack{Name: "never", Endpoint: endpoint}
	if _, err := other.Destroy(t.Context(), true); !fault.Is(err, fault.NotFound) {
		t.Errorf("a stack that never was: %v", err)
	}
}
