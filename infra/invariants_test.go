package infra

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/aws/emf"
	"southbound/shared/aws/provision"
)

// TestFunctions pins what all functions have in common, and what sets the handler function apart.
func TestFunctions(t *testing.T) {
	t.Parallel()
	all := templates(t)
	var seen []string
	resources(t, func(_, name, kind string, r node) {
		if kind == "AWS::Lambda::Url" && at(r, "Properties", "AuthType") != "AWS_IAM" {
			t.Errorf("%s can be called by anybody", name)
		}
		if kind != "AWS::Serverless::Function" {
			return
		}
		seen = append(seen, name)
		for key, want := range map[string]any{"Runtime": "provided.al2023", "Handler": "bootstrap",
			"CodeUri": "."} {
			got := property(all, r, key)
			if python := at(got, "Fn::If"); name == "PythonFunction" && key == "Runtime" &&
				slices.Equal(python.([]any), []any{"Emulated", want, "python3.13"}) {
				continue // an emulator starts the program itself
			}
			if got != want {
				t.Errorf("%s: %s is %v, want %v", name, key, got, want)
			}
		}
		if got := at(r, "Metadata", "BuildMethod"); got != "makefile" {
			t.Errorf("%s is built by %v: only a makefile strips and tags it", name, got)
		}
		if got := property(all, r, "LoggingConfig", "LogFormat"); got != "JSON" {
			t.Errorf("%s logs as %v", name, got)
		}
		group := at(property(all, r, "LoggingConfig", "LogGroup"), "Ref")
		if at(all["template.yaml"].body, "Resources", str(group), "Type") != "AWS::Logs::LogGroup" {
			t.Errorf("%s: its log group is %v, not one of the stack: it would never expire", name,
				group)
		}
		role := strings.TrimSuffix(name, "Function") + "Role"
		if name == "PythonFunction" { // it does the same
			role = "HandlerRole"
		}
		if got, _ := property(all, r, "Role").(node)["Fn::GetAtt"].([]any); !slices.Equal(got,
			[]any{"Access", "Outputs." + role}) {
			t.Errorf("%s has the role %v, want its own, %s", name, got, role)
		}
		if property(all, r, "Policies") != nil {
			t.Errorf("%s has policies beside its role: SAM's are wider than need be", name)
		}
		if property(all, r, "FunctionUrlConfig") != nil {
			t.Errorf("%s: its URL is left to SAM", name)
		}
		loop := property(all, r, "RecursiveLoop")
		if want := map[bool]any{true: "Allow"}[wakesItself(name)]; loop != want {
			t.Errorf("%s: RecursiveLoop is %v, want %v: a chain through queues ends after 16 "+
				"hops otherwise", name, loop, want)
		}
		if property(all, r, "FunctionName") != nil && name != "HandlerFunction" &&
			name != "PythonFunction" {
			t.Errorf("%s has a name of its own: two stacks in an account, or a replacement, "+
				"would fail", name)
		}
	})
	if want := []string{"ApiFunction", "CompileFunction", "ExportFunction", "HandlerFunction",
		"LogFunction", "PythonFunction", "SweepFunction"}; !slices.Equal(seen, want) {
		t.Errorf("functions are %v, want %v", seen, want)
	}
}

// wakesItself reports whether what a function does leads back to it, through queues.
func wakesItself(name string) bool {
	return name == "HandlerFunction" || name == "PythonFunction" || name == "CompileFunction"
}

func str(v any) string { s, _ := v.(string); return s }

func integer(v any) int { n, _ := v.(int); return n }

// TestSchedulesAreNotNamed pins that SAM gives no schedule a name: it would be the same for every
// stack, and an account can have it once.
func TestSchedulesAreNotNamed(t *testing.T) {
	t.Parallel()
	seen := 0
	resources(t, func(_, name, _ string, r node) {
		events, _ := at(r, "Properties", "Events").(node)
		for _, id := range sorted(events) {
			if at(events[id], "Type") != "ScheduleV2" {
				continue
			}
			seen++
			if at(events[id], "Properties", "OmitName") != true ||
				at(events[id], "Properties", "Name") != nil {
				t.Errorf("the schedule %s of %s has a name that a second stack in the account "+
					"has, too", id, name)
			}
		}
	})
	if seen != 1 {
		t.Errorf("%d schedules were looked at, want that of the sweep", seen)
	}
}

// TestVisibility pins that messages stay hidden six times as long as a function may take: the
// provisioner's queues, and that of the log.
func TestVisibility(t *testing.T) {
	t.Parallel()
	all := templates(t)
	list, _ := at(all["template.yaml"].body, "Resources").(node)
	handler, _ := list["HandlerFunction"].(node)
	timeout := time.Duration(integer(property(all, handler, "Timeout"))) * time.Second
	if timeout != provision.DefaultTimeout {
		t.Errorf("the handler function may take %v, the provisioner hides messages for %v "+
			"times six", timeout, provision.DefaultTimeout)
	}
	if timeout < 60*time.Second || timeout > 120*time.Second {
		t.Errorf("the handler function may take %v: after a crash its agent waits six "+
			"times as long", timeout)
	}
	for _, name := range []string{"ApiFunction", "ExportFunction"} { // dryrun, plan
		f, _ := list[name].(node)
		waits := time.Duration(integer(property(all, f, "Timeout"))) * time.Second
		if waits < timeout+20*time.Second {
			t.Errorf("%s waits for a comparison of the handler function for %v, which may take %v",
				name, waits, timeout)
		}
	}
	mappings := 0
	resources(t, func(_, name, kind string, r node) {
		if kind == "AWS::Serverless::Function" {
			events, _ := property(all, r, "Events").(node)
			for _, e := range events {
				if at(e, "Type") == "SQS" {
					t.Errorf("%s: its mapping is left to SAM", name)
				}
			}
		}
		if kind != "AWS::Lambda::EventSourceMapping" {
			return
		}
		mappings++
		queue, _ := at(r, "Properties", "EventSourceArn").(node)["Fn::GetAtt"].([]any)
		hidden := integer(at(list[str(queue[0])], "Properties", "VisibilityTimeout"))
		function, _ := list[str(at(r, "Properties", "FunctionName", "Ref"))].(node)
		timeout := property(all, function, "Timeout")
		if name := str(at(timeout, "Ref")); name != "" { // a parameter
			timeout = at(all["template.yaml"].body, "Parameters", name, "MaxValue")
		}
		want := 6 * integer(timeout)
		if at(list[str(queue[0])], "Properties", "FifoQueue") == true {
			// a crash stops a whole group as long
			want = integer(timeout) + 1
		}
		if want <= 1 || hidden < want || hidden > 2*want {
			t.Errorf("%s: messages are hidden for %d s, want %d", name, hidden, want)
		}
		if got, _ := at(r, "Properties", "FunctionResponseTypes").([]any); !slices.Equal(got,
			[]any{"ReportBatchItemFailures"}) {
			t.Errorf("%s: one bad message fails its whole batch", name)
		}
	})
	if mappings != 2 {
		t.Errorf("%d mappings were looked at, want those of the log and of orders", mappings)
	}
}

// TestNothingIsLeftToBeNamed pins that what the templates refer to is in them: LocalStack refuses a
// template that refers to what SAM would make of a property.
func TestNothingIsLeftToBeNamed(t *testing.T) {
	t.Parallel()
	all := templates(t)
	for _, file := range sorted(all) {
		body, refers := all[file].body, 0
		var look func(v any)
		known := func(name string) {
			refers++
			if at(body, "Resources", name) == nil && at(body, "Parameters", name) == nil &&
				!strings.HasPrefix(name, "AWS::") {
				t.Errorf("%s refers to %s", file, name)
			}
		}
		look = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, e := range v {
					look(e)
				}
			case node:
				if name, ok := v["Ref"].(string); ok {
					known(name)
				}
				if list, ok := v["Fn::GetAtt"].([]any); ok {
					known(str(list[0]))
				}
				for _, k := range sorted(v) {
					look(v[k])
				}
			}
		}
		look(body["Resources"])
		look(body["Outputs"])
		if refers == 0 {
			t.Errorf("%s refers to nothing: this test looks at nothing", file)
		}
	}
}

// TestStateful pins that what cannot be made again outlives the stack, is encrypted, can be
// restored, and has no name that stands in the way of a second stack.
func TestStateful(t *testing.T) {
	t.Parallel()
	kept := []string{"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key"}
	resources(t, func(file, name, kind string, r node) {
		if slices.Contains(kept, kind) &&
			(r["DeletionPolicy"] != "Retain" || r["UpdateReplacePolicy"] != "Retain") {
			t.Errorf("%s: %s is not retained", file, name)
		}
		for _, key := range []string{"TableName", "BucketName", "QueueName", "RoleName",
			"ManagedPolicyName", "LogGroupName"} {
			if at(r, "Properties", key) != nil {
				t.Errorf("%s: %s has a name of its own", file, name)
			}
		}
		switch kind {
		case "AWS::DynamoDB::Table":
			table(t, r)
		case "AWS::S3::Bucket":
			bucket(t, r)
		case "AWS::SQS::Queue":
			queue(t, name, r)
		case "AWS::Logs::LogGroup":
			if at(r, "Properties", "RetentionInDays") == nil ||
				at(r, "Properties", "KmsKeyId") == nil {
				t.Errorf("%s: %s keeps lines forever, or without the stack's key", file, name)
			}
		case "AWS::KMS::Key":
			if at(r, "Properties", "EnableKeyRotation") != true {
				t.Errorf("%s is not rotated", name)
			}
		}
	})
}

func table(t *testing.T, r node) {
	t.Helper()
	p := at(r, "Properties")
	if at(p, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled") != true {
		t.Error("the table cannot be restored")
	}
	if at(p, "BillingMode") != "PAY_PER_REQUEST" || at(p, "GlobalSecondaryIndexes") != nil {
		t.Error("the table costs something when nothing happens")
	}
	if at(p, "SSESpecification") == nil {
		t.Error("the table is not encrypted with the key of the stack")
	}
	if at(p, "TimeToLiveSpecification", "AttributeName") != "x" {
		t.Error("the log in the table never expires")
	}
}

func bucket(t *testing.T, r node) {
	t.Helper()
	p := at(r, "Properties")
	for _, key := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls",
		"RestrictPublicBuckets"} {
		if at(p, "PublicAccessBlockConfiguration", key) != true {
			t.Errorf("the bucket may be public: %s", key)
		}
	}
	if at(p, "BucketEncryption") == nil || at(p, "VersioningConfiguration", "Status") != "Enabled" {
		t.Error("the bucket is not encrypted, or keeps nothing of what was deleted")
	}
	rules, _ := at(p, "LifecycleConfiguration", "Rules").([]any)
	for _, rule := range rules {
		for _, key := range []string{"ExpirationInDays", "ExpirationDate", "Transitions",
			"Transition"} {
			if at(rule, key) != nil && at(rule, "Prefix") != "archives/" {
				t.Errorf("rule %v: %s would take what the state names", at(rule, "Id"), key)
			}
		}
		if days := at(rule, "NoncurrentVersionExpiration", "NoncurrentDays"); days != nil &&
			integer(days) <= 35 {
			t.Errorf("what was deleted goes after %v days, but the table can be restored to 35 "+
				"days ago", days)
		}
	}
}

func queue(t *testing.T, name string, r node) {
	t.Helper()
	p := at(r, "Properties")
	if at(p, "SqsManagedSseEnabled") == nil || at(p, "KmsMasterKeyId") == nil {
		t.Errorf("queue %s is not encrypted", name)
	}
	if name == "DeadLetters" &&
		(at(p, "FifoQueue") != true ||
			at(p, "RedriveAllowPolicy", "redrivePermission") != "allowAll") {
		t.Error("queues of agents are FIFO and there are more than ten: their dead letters need " +
			"a FIFO queue that allows all")
	}
	if strings.HasSuffix(name, "DeadLetters") {
		if integer(at(p, "MessageRetentionPeriod")) < 1209600 {
			t.Errorf("%s forgets before people look", name)
		}
	} else if at(p, "RedrivePolicy") == nil {
		t.Errorf("queue %s has no dead letters: one bad message would come back for days", name)
	}
}

// TestEnvironment pins that the functions read what the template sets, and the other way round.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	set := map[string]bool{}
	all := templates(t)
	add := func(v any) {
		vars, _ := v.(node)
		for name := range vars {
			set[name] = true
		}
	}
	add(at(all["template.yaml"].body, "Globals", "Function", "Environment", "Variables"))
	resources(t, func(_, name, kind string, r node) {
		add(at(r, "Properties", "Environment", "Variables"))
		if at(r, "Properties", "Environment", "Variables", "SOUTHBOUND_EXPORT_URL") != nil &&
			name != "ApiFunction" {
			t.Errorf("%s is told where exports go: only the API tells it to others", name)
		}
	})
	read := map[string]bool{}
	variable := regexp.MustCompile(`"(SOUTHBOUND_[A-Z_]+)"`)
	for _, m := range variable.FindAllStringSubmatch(code(t, "../functions", "../shared/aws/home"),
		-1) {
		read[m[1]] = true
	}
	// where a layer puts them is known; only tests have another place
	delete(read, "SOUTHBOUND_PROGRAMS")
	// the script that Lambda starts sets the first; the other is for emulators
	delete(read, "SOUTHBOUND_PYTHON_PROGRAM")
	delete(read, "SOUTHBOUND_PYTHON")
	delete(set, "AWS_LAMBDA_EXEC_WRAPPER") // Lambda reads it
	if got, want := sorted(set), sorted(read); !slices.Equal(got, want) {
		t.Errorf("the template sets %v, the functions read %v", got, want)
	}
}

// code returns the text of all Go files below some folders, without tests.
func code(t *testing.T, dirs ...string) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
				strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// TestOptions pins that every parameter says what it is for, and those that cost money what they
// cost, and are off.
func TestOptions(t *testing.T) {
	t.Parallel()
	params, _ := at(templates(t)["template.yaml"].body, "Parameters").(node)
	for _, name := range sorted(params) {
		if str(at(params[name], "Description")) == "" {
			t.Errorf("%s has no description", name)
		}
		if _, ok := params[name].(node)["Default"]; !ok {
			t.Errorf("%s has no default", name)
		}
	}
	for name, off := range map[string]string{"Alarms": "false", "Dashboard": "false",
		"EncryptionKey": ""} {
		if !strings.Contains(str(at(params[name], "Description")), "$") ||
			at(params[name], "Default") != off {
			t.Errorf("%s costs money without saying how much, or is on by itself", name)
		}
	}
	if got := at(params["Architecture"], "Default"); got != "arm64" {
		t.Errorf("functions are built for %v", got)
	}
}

// TestAlarms pins that there is one for each thing that nobody else would notice, and that they can
// be counted.
func TestAlarms(t *testing.T) {
	t.Parallel()
	program := code(t, "../functions", "../shared/aws")
	var got, failing []string
	python := 0 // alarms of the function with Python, which a stack need not have
	resources(t, func(_, name, kind string, r node) {
		if kind != "AWS::CloudWatch::Alarm" {
			return
		}
		metric := str(at(r, "Properties", "MetricName"))
		if dimensions, _ := at(r, "Properties", "Dimensions").([]any); metric == "Errors" {
			failing = append(failing, str(at(dimensions[0], "Value", "Ref")))
		}
		got = append(got, metric)
		if at(r, "Properties", "Namespace") == emf.Namespace &&
			!strings.Contains(program, `"`+metric+`", emf.`) {
			t.Errorf("%s looks at %s, which no function measures", name, metric)
		}
		// What is not there measures nothing. Only of what is always run it is told when that ends,
		// and not that it has yet to begin.
		missing, ends := "notBreaching", any(nil)
		if metric == "Invocations" {
			missing, ends = "missing", at(r, "Properties", "AlarmActions")
		}
		if got := at(r, "Properties", "InsufficientDataActions"); !reflect.DeepEqual(got, ends) {
			t.Errorf("%s does %v when there are no data any more, want %v", name, got, ends)
		}
		if got := str(at(r, "Properties", "TreatMissingData")); got != missing {
			t.Errorf("%s takes what is missing for %s, want %s", name, got, missing)
		}
		condition := "Alarms"
		if strings.HasPrefix(name, "Python") {
			condition, python = "PythonAlarms", python+1
		}
		if r["Condition"] != condition {
			t.Errorf("%s is there on the condition %v, want %s", name, r["Condition"], condition)
		}
	})
	for _, want := range []string{"ApproximateNumberOfMessagesVisible", "OldestReadyAge",
		"OutboxAge", "Unserved", "MessagesRefused", "Throttles", "Errors", "Invocations"} {
		if !slices.Contains(got, want) {
			t.Errorf("no alarm looks at %s", want)
		}
	}
	// Others are waited for, or their messages become dead letters. One of the handler function may
	// be taken for done, as another is thought to be at it, and its lane counts as served.
	slices.Sort(failing)
	if want := []string{"HandlerFunction", "PythonFunction", "SweepFunction"}; !slices.Equal(failing, want) {
		t.Errorf("there are alarms for errors of %v, want %v", failing, want)
	}
	if len(got) != 18 || python != 2 {
		t.Errorf("there are %d alarms, %d of Python; the parameter Alarms tells what 16 and 2 cost",
			len(got), python)
	}
}

// TestFilesAreShort pins that a template grows into parts.
func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for name, f := range templates(t) {
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines > 600 {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
}

// TestRestoredTable pins that a table which was restored is used by everything that uses the
// stack's own: who names it, and who has rights to it.
func TestRestoredTable(t *testing.T) {
	t.Parallel()
	body := templates(t)["template.yaml"].body
	for _, path := range [][]string{
		{"Globals", "Function", "Environment", "Variables", "SOUTHBOUND_TABLE"},
		{"Resources", "Access", "Properties", "Parameters", "TableArn"},
		{"Resources", "Observability", "Properties", "Parameters", "Table"},
		{"Outputs", "Table", "Value"},
	} {
		choice, _ := at(body, path...).(node)["Fn::If"].([]any)
		if len(choice) != 3 || choice[0] != "Restored" {
			t.Errorf("%s is the stack's own table also when another was restored",
				strings.Join(path, "."))
		}
	}
}

// TestMetricsAreDocumented pins that the page of the functions names the metrics that there are,
// and the page of costs how many: each is paid for.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	program := code(t, "../functions", "../shared/aws")
	measured := map[string]bool{}
	for _, pattern := range []string{`Metrics\.(?:Add|Sample)\("(\w+)"`, `l\.count\("(\w+)"`,
		`state\.Status\w+:\s+"(\w+)"`} {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(program, -1) {
			measured[m[1]] = true
		}
	}
	page, err := os.ReadFile("../docs/design/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "| metric | unit | by |\n")
	told := map[string]bool{}
	for line := range strings.Lines(list) {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(names, -1) {
			told[m[1]] = true
		}
	}
	if got, want := sorted(told), sorted(measured); !slices.Equal(got, want) {
		t.Errorf("the page of the functions has\n%v, measured are\n%v", got, want)
	}
	costs, err := os.ReadFile("../docs/costs.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d at most", len(measured)); !strings.Contains(string(costs), want) {
		t.Errorf("the page of costs does not say that there are %s", want)
	}
}
