package home

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/fault"
)

// stack is what a template sets.
var stack = map[string]string{EnvTable: "table", EnvBucket: "bucket", EnvPrefix: "sb-1",
	EnvDeadLetters: "arn:aws:sqs:eu-west-1:1:sb-1-dead.fifo", EnvHandler: "sb-1-handler",
	EnvLogQueue: "https://sqs.eu-west-1.amazonaws.com/1/sb-1-log", EnvEndpoint: "",
	"AWS_REGION": "eu-west-1"}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		change map[string]string
		want   string // of the error
	}{
		{"what a template sets is enough", nil, ""},
		{"all that is missing is named at once", map[string]string{EnvTable: "", EnvBucket: ""},
			"SOUTHBOUND_TABLE, SOUTHBOUND_BUCKET not set"},
		{"a prefix that would not fit into names",
			map[string]string{EnvPrefix: strings.Repeat("x", 21)}, "SOUTHBOUND_PREFIX is"},
		{"a prefix that queues cannot have", map[string]string{EnvPrefix: "a.b"},
			"SOUTHBOUND_PREFIX is"},
		{"the rest is not always needed",
			map[string]string{EnvDeadLetters: "", EnvHandler: "", EnvLogQueue: ""}, ""},
	} {
		env := maps.Clone(stack)
		maps.Copy(env, c.change)
		_, err := FromEnv(func(name string) string { return env[name] })
		if (err == nil) != (c.want == "") ||
			err != nil && (!strings.Contains(err.Error(), c.want) || !fault.Is(err, fault.Usage)) {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
	got, err := FromEnv(func(name string) string { return stack[name] })
	want := Config{Table: "table", Bucket: "bucket", Prefix: "sb-1",
		DeadLetters: stack[EnvDeadLetters], Handler: "sb-1-handler", LogQueue: stack[EnvLogQueue],
		Region: "eu-west-1"}
	if diff := cmp.Diff(want, got,
		cmpopts.IgnoreFields(Config{}, "Leave", "Count", "Sets", "Connector", "Notifier",
			"Packs")); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := Open(t.Context(),
		Config{Table: "t", Bucket: "b", Prefix: "p", Makes: true, Region: "eu-west-1"}); !fault.Is(
		err, fault.Usage) {
		t.Errorf("a process that makes mappings for no function was opened: %v", err)
	}
}

// TestPlaces pins where the bucket and the queues are, in AWS, in its other partitions and on an
// emulator.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reason, endpoint, region, log, bucket, queues string }{
		{"AWS", "", "eu-west-1", "https://sqs.eu-west-1.amazonaws.com/1/sb-1-log",
			"https://b.s3.eu-west-1.amazonaws.com", "https://sqs.eu-west-1.amazonaws.com/1/"},
		{"China", "", "cn-north-1", "https://sqs.cn-north-1.amazonaws.com.cn/1/log",
			"https://b.s3.cn-north-1.amazonaws.com.cn",
			"https://sqs.cn-north-1.amazonaws.com.cn/1/"},
		{"an emulator", "http://127.0.0.1:4566", "us-east-1",
			"http://127.0.0.1:4566/000000000000/log", "http://127.0.0.1:4566/b",
			"http://127.0.0.1:4566/000000000000/"},
		{"no log queue: queues are looked up", "", "eu-west-1", "",
			"https://b.s3.eu-west-1.amazonaws.com", ""},
	} {
		conf := Config{Bucket: "b", Endpoint: c.endpoint, LogQueue: c.log}
		if got := conf.bucketURL(c.region); got != c.bucket {
			t.Errorf("%s: bucket at %s", c.reason, got)
		}
		if got := conf.queueBase(); got != c.queues {
			t.Errorf("%s: queues at %s", c.reason, got)
		}
	}
}
