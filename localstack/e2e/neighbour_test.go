//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"

	"southbound/infra/stack"
)

// codeURI is a line of a template that names the code of a function.
var codeURI = regexp.MustCompile(`(?m)^ *CodeUri: .*$`)

// uploaded has the template that was built name the functions where SAM has uploaded them for the
// stack: packing them again takes longer than all else that a second deployment does.
func (w *world) uploaded(t *testing.T) {
	t.Helper()
	c, err := awsconfig.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w.stack.Endpoint != "" {
		c.BaseEndpoint = &w.stack.Endpoint
	}
	out, err := cloudformation.NewFromConfig(c).GetTemplate(t.Context(),
		&cloudformation.GetTemplateInput{StackName: &w.stack.Name,
			TemplateStage: cfntypes.TemplateStageOriginal})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.stack.Built, "template.yaml")
	built, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	there := codeURI.FindAllString(aws.ToString(out.TemplateBody), -1)
	if here := codeURI.FindAll(built, -1); len(here) != len(there) || len(here) == 0 {
		t.Fatalf("built are %q, uploaded %q", here, there)
	}
	at := -1
	text := codeURI.ReplaceAllStringFunc(string(built), func(string) string {
		at++
		return there[at]
	})
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// neighbour: a second stack in the account neither takes anything from the first, nor takes it
// along when it is destroyed.
func neighbour(t *testing.T, w *world) {
	other := *w
	other.stack.Name = "southbound-e2e-" + token()
	w.uploaded(t)
	step(t, "sam deploy of a second stack", func() error {
		return other.stack.Deploy(t.Context(),
			map[string]string{"Architecture": stack.Architecture()})
	})
	var err error
	if other.out, err = other.stack.Outputs(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Prefix", "Table", "Bucket", "HandlerFunction", "LogQueue"} {
		if other.out[name] == w.out[name] {
			t.Errorf("two stacks have one %s: %s", name, w.out[name])
		}
	}
	mine, theirs := w.schedule(t), other.schedule(t)
	if mine == theirs {
		t.Errorf("two stacks have one schedule: %s", mine)
	}
	u, v := w.user(t, "neighbour"), other.user(t, "neighbour")
	v.env = u.env // of the same name, with the same agents
	u.nulls(t, "a", 1, 10)
	v.nulls(t, "b", 1, 20)
	u.export(t)
	v.export(t)
	nothingLeft(t, &other)
	if got := w.schedule(t); got != mine {
		t.Errorf("the schedule was %s, and is %s", mine, got)
	}
	u.nulls(t, "c", 1, 10)
	u.export(t)
	u.deployedOf(t, "c", 10)
}

// deployedOf wants a number of resources of a series to be deployed.
func (u *user) deployedOf(t *testing.T, name string, want int) {
	t.Helper()
	type row struct{ Status string }
	n := 0
	for _, r := range decode[row](t, u.run(t, 0, "resources", "std::Null[cloud,name="+name+"*",
		"--json")) {
		if r.Status == "deployed" {
			n++
		}
	}
	if n != want {
		t.Errorf("%d resources %s are deployed, want %d", n, name, want)
	}
}

// schedule returns the name of the stack's schedule, which has to exist and to be of its sweep.
func (w *world) schedule(t *testing.T) string {
	t.Helper()
	c, err := awsconfig.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w.stack.Endpoint != "" {
		c.BaseEndpoint = aws.String(w.stack.Endpoint)
	}
	found, err := cloudformation.NewFromConfig(c).DescribeStackResource(t.Context(),
		&cloudformation.DescribeStackResourceInput{StackName: &w.stack.Name,
			LogicalResourceId: aws.String("SweepFunctionMinute")})
	if err != nil {
		t.Fatal(err)
	}
	name := aws.ToString(found.StackResourceDetail.PhysicalResourceId)
	s, err := scheduler.NewFromConfig(c).GetSchedule(t.Context(),
		&scheduler.GetScheduleInput{Name: &name})
	if err != nil {
		t.Fatalf("the schedule %s of %s: %v", name, w.stack.Name, err)
	}
	if want := w.function(t, "SweepFunction"); !strings.HasSuffix(aws.ToString(s.Target.Arn),
		":"+want) {
		t.Errorf("the schedule %s of %s invokes %s, want %s", name, w.stack.Name,
			aws.ToString(s.Target.Arn), want)
	}
	return name
}
