//go:build servers

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/bucket"
	"southbound/shared/aws/dynamo"
	"southbound/shared/aws/logs"
	"southbound/shared/buildtest"
	"southbound/shared/deploy/state"
)

// TestFunction runs the function as it is deployed, behind a queue, and pins that what a lane
// committed is in the log after its message.
func TestFunction(t *testing.T) {
	mini, err := server.Start(t.Context(), server.MiniStack)
	if err != nil {
		t.Fatal(err)
	}
	defer mini.Stop()
	c := awstest.Config(mini.URL, nil)
	name := awstest.Unique(t)[:17]
	url := makeStack(t, c, mini.URL, name)

	api := dynamodb.NewFromConfig(c)
	objects := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	store, err := logs.New(logs.Config{API: api, Table: name, Objects: bucket.NewLogObjects(objects,
		name)})
	if err != nil {
		t.Fatal(err)
	}
	records, err := dynamo.New(dynamo.Config{API: api, Table: name, Log: store})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	lease, err := records.Acquire(t.Context(), "prod", "web1", "worker#1", now,
		now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var actions []state.Action
	for n := range 100 { // enough for an object
		actions = append(actions, state.Action{ID: fmt.Sprintf("%012x%020x", now.UnixMilli(), n),
			Resource: "std::Null[web1,name=x]", Finished: now.UTC(), Reason: fmt.Sprint(n * n * n)})
	}
	if _, err := records.Commit(t.Context(), "prod",
		state.Commit{Guard: state.Guard{Key: "web1", Fence: lease.Fence},
			Actions: actions}); err != nil {
		t.Fatal(err)
	}
	notifier := &logs.Notifier{API: sqs.NewFromConfig(c), URL: url}
	if err := notifier.Notify(t.Context(), "prod", "web1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for empty := false; !empty; {
		u, err := records.Unlogged(ctx, "prod", []string{"web1"}, 1)
		if err != nil {
			t.Fatalf("it is not logged: %v", err)
		}
		empty = u.Empty()
	}
	got, err := store.Actions(t.Context(), "prod", state.ActionQuery{Resource: actions[0].Resource},
		time.Time{})
	if err != nil || len(got) != len(actions) {
		t.Errorf("%v: %d actions in the log, want %d", err, len(got), len(actions))
	}
}

// makeStack makes what the function needs, and returns the URL of its queue.
func makeStack(t *testing.T, c aws.Config, endpoint, name string) string {
	t.Helper()
	ctx := t.Context()
	if _, err := dynamodb.NewFromConfig(c).CreateTable(ctx, dynamo.Table(name)); err != nil &&
		!awserr.Is(err, awserr.TableInUse) {
		t.Fatal(err)
	}
	if _, err := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true }).
		CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	q := sqs.NewFromConfig(c)
	made, err := q.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name,
		Attributes: map[string]string{"VisibilityTimeout": "180"}})
	if err != nil {
		t.Fatal(err)
	}
	l := lambda.NewFromConfig(c)
	if _, err := l.CreateFunction(ctx, &lambda.CreateFunctionInput{FunctionName: &name,
		Runtime: types.RuntimeProvidedal2023, Handler: aws.String("bootstrap"),
		Timeout: aws.Int32(30),
		Role:    aws.String("arn:aws:iam::000000000000:role/x"),
		Code:    &types.FunctionCode{ZipFile: archive(t)},
		Environment: &types.Environment{Variables: map[string]string{
			"SOUTHBOUND_TABLE": name, "SOUTHBOUND_BUCKET": name, "SOUTHBOUND_PREFIX": name,
			"SOUTHBOUND_ENDPOINT": endpoint, "AWS_REGION": "us-east-1",
			"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtest"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.CreateEventSourceMapping(ctx,
		&lambda.CreateEventSourceMappingInput{FunctionName: &name, BatchSize: aws.Int32(10),
			EventSourceArn: aws.String("arn:aws:sqs:us-east-1:000000000000:" + name),
			FunctionResponseTypes: []types.FunctionResponseType{
				types.FunctionResponseTypeReportBatchItemFailures}}); err != nil {
		t.Fatal(err)
	}
	return *made.QueueUrl
}

// archive builds the function for this machine.
func archive(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile(buildtest.Program(t, "southbound/functions/log", buildtest.ForLambda))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	h := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	h.SetMode(0o755)
	f, err := z.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
