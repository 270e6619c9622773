//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// function returns the name of a function of the stack.
func (w *world) function(t *testing.T, id string) string {
	t.Helper()
	pages := lambda.NewListFunctionsPaginator(w.lambda, &lambda.ListFunctionsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Functions {
			if strings.HasPrefix(aws.ToString(f.FunctionName), w.stack.Name+"-"+id) {
				return aws.ToString(f.FunctionName)
			}
		}
	}
	t.Fatalf("the stack has no function %s", id)
	return ""
}

// secret uses a value that only the function may see, and looks for it everywhere (S1).
func secret(t *testing.T, w *world) {
	u, bucket, value := w.user(t, "secret"), w.target(t), "southbound-e2e-secret-"+token()+token()
	name := "/southbound-e2e/" + token()
	if _, err := w.ssm.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Value: &value,
		Type: ssmtypes.ParameterTypeSecureString}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = w.ssm.DeleteParameter(context.WithoutCancel(t.Context()),
			&ssm.DeleteParameterInput{Name: &name})
	}()
	u.write(t, "a.yaml", u.cloud(1)+fmt.Sprintf(`  - type: aws::s3::Object
    attributes: {bucket: %s, key: password, content: {secret: "ssm:%s"}}
  - type: aws::s3::Object
    attributes: {bucket: southbound-e2e-there-is-none, key: password, content: {secret: "ssm:%s"}}
`, bucket, name, name))
	// one has nowhere to go: errors must not tell, either
	u.run(t, 3, "export", ".", "--wait", "--timeout", "5m")
	if got, _ := w.object(t, bucket, "password"); got != value {
		t.Fatalf("the object holds %q, want the secret", got)
	}
	for _, args := range [][]string{{"logs", "--json"}, {"resources", "--json"},
		{"status", "--json"}, {"plan", ".", "--json"}, {"versions", "--json"}} {
		cmd := u.command(t.Context(), args...)
		out, _ := cmd.CombinedOutput()
		if bytes.Contains(out, []byte(value)) {
			t.Errorf("southbound %v tells it", args)
		}
	}
	w.decoded(t, u.env, value)
	w.table(t, value)
	w.bucket(t, value)
	w.queues(t, value)
	w.logged(t, value)
}

// decoded looks for a secret in what the state holds, as the engine reads it: in the table it is
// compressed.
func (w *world) decoded(t *testing.T, env, value string) {
	t.Helper()
	h := w.home(t)
	rows, err := h.State.ScanRows(t.Context(), env, resource.ID(""), 100)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	actions, err := h.State.Actions(t.Context(), env, state.ActionQuery{Limit: 100})
	if err != nil || len(actions) < 2 {
		t.Fatalf("%d actions, %v", len(actions), err)
	}
	versions, err := h.State.Versions(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v %+v %+v", rows, actions, versions); strings.Contains(text, value) {
		t.Error("the state holds it")
	}
}

func (w *world) table(t *testing.T, value string) {
	t.Helper()
	pages, items := dynamodb.NewScanPaginator(w.ddb,
		&dynamodb.ScanInput{TableName: aws.String(w.out["Table"])}), 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			items++
			if strings.Contains(fmt.Sprintf("%s", item), value) || containsBytes(item, value) {
				t.Errorf("an item of the table holds it: %v %v", item["k"], item["s"])
			}
		}
	}
	if items == 0 {
		t.Error("the table is empty: this test looks at nothing")
	}
}

// containsBytes looks into the bytes of attributes, which a format verb would write as numbers.
func containsBytes(item any, value string) bool {
	data, _ := json.Marshal(item)
	return bytes.Contains(data, []byte(value))
}

func (w *world) bucket(t *testing.T, value string) {
	t.Helper()
	bucket, objects := w.out["Bucket"], 0
	pages := s3.NewListObjectsV2Paginator(w.s3, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			out, err := w.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: o.Key})
			if err != nil {
				continue // merged away meanwhile
			}
			data, _ := io.ReadAll(out.Body)
			_ = out.Body.Close()
			objects++
			if bytes.Contains(data, []byte(value)) {
				t.Errorf("object %s of the bucket holds it", aws.ToString(o.Key))
			}
		}
	}
	if objects == 0 {
		t.Error("the bucket is empty: this test looks at nothing")
	}
}

func (w *world) queues(t *testing.T, value string) {
	t.Helper()
	out, err := w.sqs.ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range out.QueueUrls {
		if !strings.Contains(url, "/"+w.out["Prefix"]) && !strings.Contains(url, "/"+w.stack.Name) {
			continue
		}
		// For a second: no time at all is not sent, and would hide the messages of other tests for
		// as long as their queue says.
		got, err := w.sqs.ReceiveMessage(t.Context(),
			&sqs.ReceiveMessageInput{QueueUrl: aws.String(url), MaxNumberOfMessages: 10,
				VisibilityTimeout: 1})
		if err != nil {
			continue // of another test, which removed it
		}
		for _, m := range got.Messages {
			if strings.Contains(aws.ToString(m.Body), value) {
				t.Errorf("a message in %s holds it", url)
			}
		}
	}
}

func (w *world) logged(t *testing.T, value string) {
	t.Helper()
	lines := 0
	for _, group := range w.groups(t) {
		events := cloudwatchlogs.NewFilterLogEventsPaginator(w.logs,
			&cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group})
		for events.HasMorePages() {
			e, err := events.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range e.Events {
				lines++
				if strings.Contains(aws.ToString(line.Message), value) {
					t.Errorf("%s tells it: %s", group, aws.ToString(line.Message))
				}
			}
		}
	}
	if lines == 0 {
		t.Error("the functions logged nothing: this test looks at nothing")
	}
}

// groups returns the names of the stack's log groups. Where its name stands in them is not the same
// everywhere.
func (w *world) groups(t *testing.T) []string {
	t.Helper()
	var out []string
	pages := cloudwatchlogs.NewDescribeLogGroupsPaginator(w.logs,
		&cloudwatchlogs.DescribeLogGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.LogGroups {
			if name := aws.ToString(g.LogGroupName); strings.Contains(name, w.stack.Name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// noDeadLetters pins that nothing of what the suite did was more than the handler function could
// take.
func noDeadLetters(t *testing.T, w *world) {
	t.Helper()
	name := w.out["DeadLetters"][strings.LastIndexByte(w.out["DeadLetters"], ':')+1:]
	url, err := w.sqs.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.sqs.GetQueueAttributes(t.Context(),
		&sqs.GetQueueAttributesInput{QueueUrl: url.QueueUrl,
			AttributeNames: []sqstypes.QueueAttributeName{
				sqstypes.QueueAttributeNameApproximateNumberOfMessages}})
	if err != nil {
		t.Fatal(err)
	}
	if n := out.Attributes["ApproximateNumberOfMessages"]; n != "0" {
		t.Errorf("there are %s dead letters", n)
	}
}

// nothingLeft destroys the stack with its data, and looks for what is left.
func nothingLeft(t *testing.T, w *world) {
	t.Helper()
	step(t, "destroy, with data once it is gone", func() error {
		if _, err := w.stack.Destroy(t.Context(), false); err != nil {
			return err
		}
		left, err := w.stack.Destroy(t.Context(), true)
		if err == nil && (left.Table != "" || left.Bucket != "") {
			t.Errorf("destroy leaves %+v", left)
		}
		return err
	})
	ours := func(text string) bool {
		return strings.Contains(text, w.stack.Name) || strings.Contains(text, w.out["Prefix"])
	}
	report := func(what string, names []string, err error) {
		if err != nil {
			t.Errorf("list %s: %v", what, err)
		}
		for _, n := range names {
			if ours(n) {
				t.Errorf("left behind: %s %s", what, n)
			}
		}
	}
	ctx := t.Context()
	tables, err := w.ddb.ListTables(ctx, &dynamodb.ListTablesInput{})
	report("table", tables.TableNames, err)
	queues, err := w.sqs.ListQueues(ctx, &sqs.ListQueuesInput{})
	report("queue", queues.QueueUrls, err)
	buckets, err := w.s3.ListBuckets(ctx, &s3.ListBucketsInput{})
	var names []string
	for _, b := range buckets.Buckets {
		names = append(names, aws.ToString(b.Name))
	}
	report("bucket", names, err)
	functions, err := w.lambda.ListFunctions(ctx, &lambda.ListFunctionsInput{})
	names = nil
	for _, f := range functions.Functions {
		names = append(names, aws.ToString(f.FunctionName))
	}
	report("function", names, err)
	mappings, err := w.lambda.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{})
	names = nil
	for _, m := range mappings.EventSourceMappings {
		names = append(names, aws.ToString(m.FunctionArn)+" "+aws.ToString(m.EventSourceArn))
	}
	report("mapping", names, err)
	if w.local == nil {
		// MiniStack makes a group again for the last lines of a function; in AWS its role may not
		report("log group", w.groups(t), nil)
	}
}
