package infra

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// statement is one of a policy, with where it stands.
type statement struct {
	where string // resource of the template
	kind  string // of that resource
	body  node
}

// statements returns all of all templates, those that a condition chooses as well.
func statements(t *testing.T) []statement {
	t.Helper()
	var out []statement
	resources(t, func(_, name, kind string, r node) {
		for _, body := range find(r, "Statement") {
			out = append(out, statement{name, kind, body})
		}
	})
	return out
}

// find returns the statements below v: the elements of lists that stand under a key.
func find(v any, key string) []node {
	var out []node
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, find(e, key)...)
		}
	case node:
		for _, k := range sorted(v) {
			if k == key {
				out = append(out, effects(v[k])...)
			} else {
				out = append(out, find(v[k], key)...)
			}
		}
	}
	return out
}

func effects(v any) []node {
	var out []node
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, effects(e)...)
		}
	case node:
		if v["Effect"] != nil {
			return []node{v}
		}
		for _, k := range sorted(v) {
			out = append(out, effects(v[k])...)
		}
	}
	return out
}

func list(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = []string{v}
	case []any:
		for _, e := range v {
			out = append(out, str(e))
		}
	}
	return out
}

// TestLeastPrivilege pins that no statement allows a wildcard of actions, or all resources; the one
// action for which IAM has no other resource is bound to the handler function.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	all := statements(t)
	if len(all) < 20 {
		t.Fatalf("only %d statements were found", len(all))
	}
	for _, s := range all {
		sid := s.where + "/" + str(s.body["Sid"])
		if s.body["Effect"] == "Deny" {
			continue
		}
		actions := list(s.body["Action"])
		if len(actions) == 0 || s.body["NotAction"] != nil || s.body["NotResource"] != nil {
			t.Errorf("%s: says what is not allowed instead of what is", sid)
		}
		for _, a := range actions {
			if strings.Contains(a, "*") {
				t.Errorf("%s allows %s", sid, a)
			}
			if a == "dynamodb:Scan" || strings.Contains(a, "Lifecycle") ||
				strings.HasSuffix(a, "Acl") {
				t.Errorf("%s allows %s, which nothing needs", sid, a)
			}
		}
		if s.kind == "AWS::KMS::Key" || s.body["Principal"] != nil {
			continue // the resource of a key's policy is that key; a trust policy has none
		}
		texts(s.body["Resource"], func(r string) {
			if r != "*" {
				return
			}
			if !slices.Equal(actions, []string{"lambda:CreateEventSourceMapping"}) ||
				at(s.body, "Condition", "ArnEquals", "lambda:FunctionArn") == nil {
				t.Errorf("%s allows %v on everything", sid, actions)
			}
		})
	}
}

// TestProvisionerIsBounded pins that queues and mappings are made under the prefix of the stack
// only, and that only the API deletes them, of this stack.
func TestProvisionerIsBounded(t *testing.T) {
	t.Parallel()
	for _, s := range statements(t) {
		sid := s.where + "/" + str(s.body["Sid"])
		for _, a := range list(s.body["Action"]) {
			switch {
			case a == "sqs:PurgeQueue":
				t.Errorf("%s allows %s", sid, a)
			case a == "sqs:DeleteQueue" &&
				(s.where != "ApiRole" ||
					at(s.body, "Condition", "StringEquals",
						"aws:ResourceTag/southbound:prefix") == nil):
				t.Errorf("%s allows %s of any queue", sid, a)
			case a == "sqs:CreateQueue" || a == "sqs:TagQueue":
				texts(s.body["Resource"], func(r string) {
					if !strings.HasSuffix(r, ":${Prefix}-*") {
						t.Errorf("%s allows %s on %s", sid, a, r)
					}
				})
			case strings.HasSuffix(a, "EventSourceMapping") &&
				at(s.body, "Condition", "ArnEquals", "lambda:FunctionArn") == nil:
				t.Errorf("%s allows %s for any function", sid, a)
			}
		}
	}
}

// TestCallers pins that who may use a URL of a function has both rights that it takes, and the
// second only through the URL.
func TestCallers(t *testing.T) {
	t.Parallel()
	got := map[string]any{}
	for _, s := range statements(t) {
		if s.where == "CallerPolicy" {
			for _, a := range list(s.body["Action"]) {
				got[a] = s.body["Condition"]
			}
		}
	}
	if at(got["lambda:InvokeFunctionUrl"], "StringEquals",
		"lambda:FunctionUrlAuthType") != "AWS_IAM" ||
		at(got["lambda:InvokeFunction"], "Bool", "lambda:InvokedViaFunctionUrl") != true ||
		len(got) != 2 {
		t.Errorf("callers have %v", got)
	}
}

// TestEveryStatementIsExplained pins that docs/iam.md names every statement by its Sid.
func TestEveryStatementIsExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/iam.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements(t) {
		sid := str(s.body["Sid"])
		if sid == "" {
			if s.body["Action"] != "sts:AssumeRole" {
				t.Errorf("%s: a statement without a Sid", s.where)
			}
			continue
		}
		if !strings.Contains(string(page), "`"+sid+"`") {
			t.Errorf("docs/iam.md does not say what %s of %s is for", sid, s.where)
		}
	}
}

// TestExportPolicy pins which functions have the policy that reads versions of secrets, and the keys
// that sign calls of callbacks: those that export, of which the compile function makes the calls.
func TestExportPolicy(t *testing.T) {
	t.Parallel()
	var have []string
	resources(t, func(_, name, kind string, r node) {
		if kind != "AWS::IAM::Role" {
			return
		}
		texts(at(r, "Properties", "ManagedPolicyArns"), func(s string) {
			if s == "ExportPolicy" {
				have = append(have, name)
			}
		})
	})
	if slices.Sort(have); !slices.Equal(have, []string{"CompileRole", "ExportRole"}) {
		t.Errorf("ExportPolicy is attached to %v", have)
	}
}

// networkPolicy is AWS's policy with which Lambda makes the network interfaces of a function.
const networkPolicy = "arn:${AWS::Partition}:iam::aws:policy/service-role/" +
	"AWSLambdaENIManagementAccess"

// TestInVpc pins that all functions are in the VPC that the parameters name, that each of their
// roles lets Lambda make network interfaces then, and that no role does otherwise.
func TestInVpc(t *testing.T) {
	t.Parallel()
	all := templates(t)
	resources(t, func(_, name, kind string, r node) {
		switch {
		case kind == "AWS::Serverless::Function":
			choice, _ := at(property(all, r, "VpcConfig"), "Fn::If").([]any)
			if len(choice) != 3 || choice[0] != "InVpc" {
				t.Errorf("%s is not in the VPC of the parameters", name)
			}
		case kind == "AWS::IAM::Role" && name != "ScheduleRole":
			policies, _ := at(r, "Properties", "ManagedPolicyArns").([]any)
			n := 0
			for _, p := range policies {
				choice, _ := at(p, "Fn::If").([]any)
				if len(choice) == 3 && choice[0] == "InVpc" &&
					at(choice[1], "Fn::Sub") == networkPolicy && at(choice[2], "Ref") == "AWS::NoValue" {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s: Lambda could not attach the function to a VPC, or could without one", name)
			}
		}
	})
}

// TestLogRole pins that the log function can overwrite neither files nor state: of objects only the
// log's own, of items only those whose keys are the log's, its cursors', and of pages that it has
// logged.
func TestLogRole(t *testing.T) {
	t.Parallel()
	resources(t, func(_, name, _ string, r node) {
		if name == "LogRole" {
			texts(at(r, "Properties", "ManagedPolicyArns"), func(s string) {
				if !slices.Contains([]string{"InVpc", "AWS::NoValue", networkPolicy}, s) {
					t.Errorf("the log function has %s, as the other functions have", s)
				}
			})
		}
	})
	writes := 0
	for _, s := range statements(t) {
		if s.where != "LogRole" {
			continue
		}
		for _, a := range list(s.body["Action"]) {
			switch {
			case a == "s3:PutObject":
				texts(s.body["Resource"], func(r string) {
					if r != "${BucketArn}/logs/*" {
						t.Errorf("it may write %s", r)
					}
				})
			case a == "dynamodb:PutItem" || a == "dynamodb:BatchWriteItem":
				writes++
				keys := list(at(s.body, "Condition", "ForAllValues:StringLike",
					"dynamodb:LeadingKeys"))
				if len(keys) == 0 ||
					slices.ContainsFunc(keys,
						func(k string) bool {
							return strings.IndexByte("GHITZ", strings.TrimPrefix(k, "p")[0]) < 0
						}) {
					t.Errorf("it may write items with the keys %v", keys)
				}
			case strings.HasPrefix(a, "dynamodb:") &&
				!slices.Contains([]string{"dynamodb:BatchGetItem", "dynamodb:GetItem",
					"dynamodb:Query"}, a):
				t.Errorf("it may %s", a)
			}
		}
	}
	if writes != 1 {
		t.Errorf("%d actions that write items were looked at, want 1", writes)
	}
}
