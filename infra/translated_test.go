//go:build servers

package infra

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// translated returns the resources that CloudFormation gets in the end, by template and name: what
// SAM makes of a property is in none of the files.
func translated(t *testing.T) map[string]node {
	t.Helper()
	tools, err := server.InstallTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]node{}
	for name, f := range templates(t) {
		if f.body["Transform"] == nil {
			out[name], _ = f.body["Resources"].(node)
			continue
		}
		path, err := filepath.Abs(f.path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := tools.Translate(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		var body node
		if err := json.Unmarshal(text, &body); err != nil {
			t.Fatal(err)
		}
		out[name], _ = body["Resources"].(node)
	}
	return out
}

// TestTranslated pins, of what CloudFormation is given, that two stacks fit into one account, and
// what the files say and SAM could change.
func TestTranslated(t *testing.T) {
	t.Parallel()
	kinds := map[string]int{}
	for file, list := range translated(t) {
		for name, r := range list {
			kind, properties := str(at(r, "Type")), at(r, "Properties")
			kinds[kind]++
			for _, problem := range notUnique(list, kind, properties) {
				t.Errorf("%s: %s: %s: a second stack in the account has the same", file, name,
					problem)
			}
			switch kind {
			case "AWS::Lambda::Function":
				translatedFunction(t, list, name, properties)
			case "AWS::IAM::Role":
				if _, written := at(templates(t)[file].body, "Resources", name).(node); !written {
					t.Errorf("%s: the role %s is SAM's: wider than need be", file, name)
				}
			case "AWS::Lambda::Permission":
				t.Errorf("%s: %s lets others invoke a function", file, name)
			}
		}
	}
	for kind, want := range map[string]int{"AWS::Lambda::Function": 7, "AWS::Lambda::Url": 2,
		"AWS::Lambda::EventSourceMapping": 2,
		"AWS::Scheduler::Schedule":        1, "AWS::CloudFormation::Stack": 2,
		"AWS::DynamoDB::Table": 1, "AWS::S3::Bucket": 1} {
		if kinds[kind] != want {
			t.Errorf("%d of %s, want %d: %v", kinds[kind], kind, want, kinds)
		}
	}
}

// nameProperty matches properties by which people give resources a name of their choice.
var nameProperty = regexp.MustCompile(`^Name$|[a-z](Name|Alias)$`)

// notUnique returns the properties that name a resource in a way that is not of its stack alone.
func notUnique(list node, kind string, properties any) []string {
	var out []string
	all, _ := properties.(node)
	for _, key := range sorted(all) {
		switch {
		case !nameProperty.MatchString(key), key == "PolicyName" && kind == "AWS::IAM::Policy":
			// the latter is within its role
		case kind == "AWS::CloudWatch::Alarm" && key == "MetricName":
		case at(list, str(at(all[key], "Ref"))) != nil: // another resource of the stack
		case !ofTheStack(all[key]):
			out = append(out, key)
		}
	}
	return out
}

// ofTheStack reports whether a value depends on the id or the name of the stack.
func ofTheStack(v any) bool {
	is := false
	texts(v, func(text string) {
		is = is || strings.Contains(text, "AWS::StackId") ||
			strings.Contains(text, "AWS::StackName") || text == "Prefix" ||
			strings.Contains(text, "${Stack}")
	})
	return is
}

// translatedFunction looks at a function as CloudFormation gets it.
func translatedFunction(t *testing.T, list node, name string, properties any) {
	t.Helper()
	role, runtime := strings.TrimSuffix(name, "Function")+"Role", "provided.al2023"
	if name == "PythonFunction" { // the handler function with an interpreter
		role, runtime = "HandlerRole", "map[Fn::If:[Emulated provided.al2023 python3.13]]"
	}
	if got, _ := at(properties, "Role", "Fn::GetAtt").([]any); !slices.Equal(got,
		[]any{"Access", "Outputs." + role}) {
		t.Errorf("%s has the role %v, want %s", name, at(properties, "Role"), role)
	}
	if fmt.Sprint(at(properties, "Runtime")) != runtime || at(properties, "KmsKeyArn") == nil ||
		at(properties, "LoggingConfig", "LogFormat") != "JSON" {
		t.Errorf("%s lacks what all functions have: %v", name, properties)
	}
	if got, want := at(properties, "RecursiveLoop") == "Allow", wakesItself(name); got != want {
		t.Errorf("%s: RecursiveLoop is %v", name, at(properties, "RecursiveLoop"))
	}
	if group := str(at(properties, "LoggingConfig", "LogGroup", "Ref")); at(list[group],
		"Type") != "AWS::Logs::LogGroup" {
		t.Errorf("%s logs to %q", name, group)
	}
}
