//go:build servers

package functions_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/aws/home"
)

const (
	region  = "us-east-1"
	account = "000000000000"
)

// node is a part of a template.
type node = map[string]any

// arn names something of the account.
func arn(service, name string) string {
	return "arn:aws:" + service + ":" + region + ":" + account + ":" + name
}

// names are what templates refer to, with a customer-managed key and a policy of the user.
func names(c *home.Config, logMapping, compiles string) map[string]string {
	out := map[string]string{"AWS::Region": region, "AWS::AccountId": account,
		"AWS::Partition": "aws", "Prefix": c.Prefix,
		"TableArn": arn("dynamodb", "table/"+c.Table), "BucketArn": "arn:aws:s3:::" + c.Bucket,
		"LogQueueArn":     arn("sqs", c.Table+"-log"),
		"CompileQueueArn": arn("sqs", c.Table+"-compile.fifo"), "KeyArn": arn("kms", "key/1"),
		"HandlerPolicy": "", "ExportPolicy": "", "LogFunctionMessages": logMapping,
		"CompileFunctionMessages": compiles}
	for _, f := range functions {
		out[f.logs] = arn("logs", "log-group:"+f.name+":*")
		out[f.resource+".Arn"] = arn("lambda", "function:"+c.Prefix+"-"+f.name)
	}
	return out
}

// resolver puts values in place of what a template refers to.
type resolver struct {
	t     *testing.T
	names map[string]string
}

var reference = regexp.MustCompile(`\$\{[^}]+\}`)

func (r *resolver) name(name string) string {
	v, ok := r.names[name]
	if !ok {
		r.t.Fatalf("the test does not know what %s is", name)
	}
	return v
}

// value resolves a part of a template; nil: it is left out.
func (r *resolver) value(v any) any {
	switch v := v.(type) {
	case []any:
		var out []any
		for _, e := range v {
			if e = r.value(e); e != nil {
				out = append(out, e)
			}
		}
		return out
	case node:
		if sub, ok := v["Fn::Sub"].(string); ok {
			return reference.ReplaceAllStringFunc(sub,
				func(s string) string { return r.name(s[2 : len(s)-1]) })
		}
		if at, ok := v["Fn::GetAtt"].([]any); ok {
			return r.name(fmt.Sprint(at[0], ".", at[1]))
		}
		if choice, ok := v["Fn::If"].([]any); ok {
			if choice[0] == "Encrypts" {
				return r.value(choice[1])
			}
			return r.value(choice[2])
		}
		if ref, ok := v["Ref"].(string); ok {
			if ref == "AWS::NoValue" {
				return nil
			}
			return r.name(ref)
		}
		out := node{}
		for k, e := range v {
			out[k] = r.value(e)
		}
		return out
	}
	return v
}

// statements resolves those of a policy.
func (r *resolver) statements(where string, document any) []statement {
	d, _ := document.(node)
	all, _ := r.value(d["Statement"]).([]any)
	var out []statement
	for _, e := range all {
		s, _ := e.(node)
		made := statement{
			where:      where,
			sid:        fmt.Sprint(s["Sid"]),
			actions:    texts(s["Action"]),
			resources:  texts(s["Resource"]),
			conditions: map[string]map[string][]string{},
		}
		if s["Effect"] != "Allow" || len(made.actions) == 0 || len(made.resources) == 0 {
			r.t.Fatalf("%s: not understood: %v", where, s)
		}
		conditions, _ := s["Condition"].(node)
		for operator, tests := range conditions {
			made.conditions[operator] = map[string][]string{}
			of, _ := tests.(node)
			for key, v := range of {
				made.conditions[operator][key] = texts(v)
			}
		}
		out = append(out, made)
	}
	return out
}

func texts(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var out []string
	list, ok := v.([]any)
	if !ok && v != nil {
		list = []any{v}
	}
	for _, e := range list {
		out = append(out, fmt.Sprint(e))
	}
	return out
}

// translated returns what CloudFormation is given of a template.
func translated(t *testing.T, file string) node {
	t.Helper()
	tools, err := server.InstallTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := tools.Translate(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var out node
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// at returns what is at a path in a template, or nil.
func at(v any, path ...string) any {
	for _, p := range path {
		n, _ := v.(node)
		v = n[p]
	}
	return v
}

// identities returns the roles of the functions and the policies of people and machines, as the
// templates make them.
func identities(t *testing.T, known map[string]string) roles {
	t.Helper()
	root, access := translated(t, "../template.yaml"), translated(t, "../infra/access.yaml")
	r := &resolver{t, known}
	out := roles{
		"person": r.policy(root, "CallerPolicy"),
		"runner": r.policy(access, "RunnerPolicy"),
	}
	seen := map[string]bool{"CallerPolicy": true, "RunnerPolicy": true,
		"ScheduleRole": true} // the schedule may start the sweep: it is what s.sweep stands for
	for _, f := range functions {
		from := texts(at(root, "Resources", f.resource, "Properties", "Role", "Fn::GetAtt"))
		if len(from) != 2 || from[0] != "Access" {
			t.Fatalf("%s has the role %v", f.resource, from)
		}
		role := strings.TrimPrefix(from[1], "Outputs.")
		got := texts(at(access, "Outputs", role, "Value", "Fn::GetAtt"))
		if !slices.Equal(got, []string{role, "Arn"}) {
			t.Fatalf("the output %s is %v", role, got)
		}
		out[f.name] = r.role(root, access, role, seen)
	}
	for _, template := range []node{root, access} {
		resources, _ := template["Resources"].(node)
		for name, x := range resources {
			if kind, _ := at(x, "Type").(string); strings.HasPrefix(kind, "AWS::IAM::") &&
				!seen[name] {
				t.Errorf("the test does not look at %s", name)
			}
		}
	}
	return out
}

// policy returns the statements of a managed policy.
func (r *resolver) policy(template node, name string) []statement {
	return r.statements(name, at(template, "Resources", name, "Properties", "PolicyDocument"))
}

// role returns the statements of a role: of the policies that it names, its own, and those of the
// stack that name it.
func (r *resolver) role(root, access node, role string, seen map[string]bool) (out []statement) {
	seen[role] = true
	properties := at(access, "Resources", role, "Properties")
	managed, _ := at(properties, "ManagedPolicyArns").([]any)
	for _, m := range managed {
		if name, ok := at(m, "Ref").(string); ok {
			seen[name] = true
			out = append(out, r.policy(access, name)...)
		}
	}
	own, _ := at(properties, "Policies").([]any)
	for _, p := range own {
		out = append(out, r.statements(role, at(p, "PolicyDocument"))...)
	}
	resources, _ := root["Resources"].(node)
	for name, p := range resources {
		to, _ := json.Marshal(at(p, "Properties", "Roles")) // plain values
		if at(p, "Type") == "AWS::IAM::Policy" &&
			strings.Contains(string(to), `"Outputs.`+role+`"`) {
			seen[name] = true
			out = append(out, r.policy(root, name)...)
		}
	}
	return out
}
