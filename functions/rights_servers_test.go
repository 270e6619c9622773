//go:build servers

package functions_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/shared/aws/home"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// reasons returns those for rights that no request of this test takes, as problems wants them.
func reasons() map[string]string {
	out := map[string]string{}
	for _, r := range []struct{ sid, actions, why string }{
		{"WriteItsLog", "logs:CreateLogStream logs:PutLogEvents",
			"Lambda writes what the function says, with its role"},
		{"UseTheKeyThroughServices",
			"kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey kms:ReEncryptFrom " +
				"kms:ReEncryptTo",
			"DynamoDB, S3 and SQS ask KMS, in the name of who asks them"},
		{"HandlerRole/SealKeptStates", "ssm:GetParameter ssm:PutParameter",
			"no handler of this test keeps state"},
		{"RunnerPolicy/SealKeptStates", "ssm:GetParameter ssm:PutParameter", "the same"},
		{"SealByTheKeyOfTheStack", "kms:Decrypt kms:Encrypt",
			"the Parameter Store asks KMS, in the name of who asks it"},
		{"ApiRole/CompareWithRealityInPython", "lambda:InvokeFunction",
			"the stack of this test has no function with Python"},
		{"HandlerRole/ServeAgents",
			"sqs:ReceiveMessage sqs:DeleteMessage sqs:GetQueueAttributes",
			"Lambda polls queues, and removes what was served, with the function's role"},
		{"CompileRole/NotifyCompiles", "sqs:SendMessage",
			"when there is no time for all that is left"},
		{"CompileRole/TakeOrders",
			"sqs:ReceiveMessage sqs:DeleteMessage sqs:GetQueueAttributes", "the same"},
		{"LogRole/TakeFromItsQueue",
			"sqs:ReceiveMessage sqs:DeleteMessage sqs:GetQueueAttributes", "the same"},
		{"LogRole/ReadWhatWasCommitted", "dynamodb:BatchGetItem",
			"actions that are larger than an item have several parts"},
		{"LogRole/TellMissingFromForbidden", "s3:ListBucket",
			"who finds a piece missing that others merged meanwhile looks again"},
		{"RunnerPolicy/TellMissingFromForbidden", "s3:ListBucket", "the same"},
		{"SweepRole/RemoveFilesThatNothingNames", "s3:DeleteObject",
			"when they are a day old; the API is seen to do it"},
		{"RunnerPolicy/ReadAndWriteState", "dynamodb:DeleteItem dynamodb:BatchWriteItem",
			"who finds a commit that another began ends it"},
	} {
		for _, action := range strings.Fields(r.actions) {
			out[r.sid+" "+action] = r.why
		}
	}
	return out
}

// noise returns a text that does not get smaller when it is packed.
func noise(seed string, size int) string {
	var out strings.Builder
	for sum := sha256.Sum256([]byte(seed)); out.Len() < size; sum = sha256.Sum256(sum[:]) {
		out.WriteString(hex.EncodeToString(sum[:]))
	}
	return out.String()[:size]
}

// many is how many agents the first version has beside others: more than an export prepares before
// it answers.
const many = 40

// write writes the documents of a version.
func (s *site) write(version int) {
	s.t.Helper()
	var text bytes.Buffer
	add := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	add("southbound: 1\nagents:\n  near: {transport: local}")
	far := []string{"web1", "web2", "old"}
	for n := 0; version == 1 && n < many; n++ {
		far = append(far, fmt.Sprintf("z%02d", n))
	}
	for _, a := range far {
		add("  %s: {transport: aws, region: %s}", a, region)
	}
	add("resources:")
	null := func(agent string, n int, more string) {
		add(
			"- {type: std::Null, agent: %s, attributes: {name: r%02d, value: %d%s",
			agent,
			n,
			version,
			more,
		)
	}
	for _, a := range far {
		null(a, 0, "}}")
	}
	for n := 1; n < 70; n++ { // more than the log has an item each for
		null("web1", n, "}}")
	}
	null("near", 0, "}}")
	null("web2", 1, `}, requires: ["std::Null[web1,name=r00]", "std::Null[near,name=r00]"]}`)
	for n := 1; version == 1 && n < 30; n++ { // of which most are left when the machine stops
		null(
			"near",
			n,
			fmt.Sprintf(`, delay_ms: 200}, requires: ["std::Null[near,name=r%02d]"]}`, n-1),
		)
	}
	add("- {type: exec::Run, agent: near, attributes: {name: noise, command: [echo, %s]}}",
		noise(fmt.Sprint(version), 20<<10))
	add(
		"- {type: 'aws::s3::Object', agent: web1, attributes: {bucket: %s, key: page, "+
			"content: %s}}",
		s.managed(),
		noise(fmt.Sprint(version), 20<<10),
	)
	add("- {type: 'aws::s3::Object', agent: web1, attributes: {bucket: %s, key: file, "+
		"content: {file: page}}}", s.managed())
	for name, content := range map[string]string{"site.yaml": text.String(),
		"page":            fmt.Sprint("page ", version),
		"southbound.yaml": "settings: {keep_versions: 1, keep_actions: 1ms}\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// deployed reports whether resources of the agent near are as a version wants them.
func (s *site) deployed(version int) func() bool {
	ids := []resource.ID{
		resource.NewID("std::Null", "near", resource.Key{Name: "name", Value: "r00"}),
		resource.NewID("exec::Run", "near", resource.Key{Name: "name", Value: "noise"})}
	if version == 1 { // it is stopped in the middle
		ids = ids[:1]
	}
	return func() bool {
		if version > 1 &&
			!s.recorder.saw("runner", "sqs:DeleteMessage") { // what is deployed is also over
			return false
		}
		rows, err := s.home.State.Rows(s.t.Context(), "prod", ids)
		return err == nil && len(rows) == len(ids) &&
			!slices.ContainsFunc(rows, func(r state.Row) bool {
				return r.Version < version || r.Hash != r.Deployed
			})
	}
}

// expired puts an object of the log where one would stand that expired years ago.
func (s *site) expired() {
	s.t.Helper()
	sum := sha256.Sum256([]byte("prod"))
	key := "logs/" + hex.EncodeToString(sum[:10]) + "/20200101/block"
	if _, err := s.home.S3.PutObject(s.t.Context(), &s3.PutObjectInput{Key: &key,
		Bucket: aws.String(s.stack.Config.Bucket), Body: strings.NewReader("old")}); err != nil {
		s.t.Fatal(err)
	}
}

// live lets everybody do what they are for, so that every kind of request is sent.
func (s *site) live() {
	s.t.Helper()
	s.write(1)
	s.recorder.unseen = queue.Name(s.stack.Config.Prefix, "prod", "old")
	s.command("export", s.dir)
	s.sweep("none")
	s.run("near", "a runner works", s.deployed(1), home.EnvLogQueue+"=")
	s.work("web1", "web2", "old", "z00")
	s.command("plan", s.dir, "agent=web1")
	s.command("dryrun", "agent=web1")
	s.command("repair", "agent=web1", "--no-wait")
	s.run("near", "a runner reads", func() bool {
		s.command("plan", s.dir, "agent=near")
		s.command("dryrun", "agent=near")
		s.command("discover", "acct::Group", "--agent", "near")
		return true
	})
	s.work("web1", "web2")
	for version := 2; version < 5; version++ {
		s.write(version)
		s.command("export", s.dir)
		s.command("parameter", "set", "motd", noise(fmt.Sprint(version), 20<<10))
		s.run("near", "a runner works", s.deployed(version))
		for _, a := range []string{"web1", "web2", "old"} {
			s.serve("handler", queue.Name(s.stack.Config.Prefix, "prod", a))
		}
		if version == 4 { // what the log was told of is lost
			s.sweep("none")
		}
		s.work()
	}
	for _, c := range []string{"status", "logs --all", "versions", "agents", "facts", "diff 3 4",
		"resource aws::s3::Object[web1,bucket=" + s.managed() + ",key=page]", "pause web1",
		"deploy --no-wait", "resume web1"} {
		s.command(strings.Fields(c)...)
	}
	s.orders()
	s.expired()
	s.sweep("collect prod")
	s.expired()
	s.command("gc", "--grace", "1ms")
	s.command("agents", "prune", "--yes")
	s.sweep("orphans")
	s.sweep("idle")
	s.ask("export", `{"environment":"prod","key":"archives/none.tar.gz"}`)
}

// TestRights pins that everybody may do what they do and nothing else: roles and policies as the
// templates make them are held against the requests of the programs, which are seen on their way to
// the server.
func TestRights(t *testing.T) {
	s := newSite(t)
	s.live()
	bucket := "arn:aws:s3:::" + s.managed()
	all := slices.DeleteFunc(s.recorder.asked, func(a asked) bool { // the affair of HandlerPolicy
		return a.who == "deploy" || a.who == "handler" &&
			(a.resource == bucket || strings.HasPrefix(a.resource, bucket+"/"))
	})
	all = distinct(all)
	have := identities(t, names(&s.stack.Config, s.logMapping, s.compileMapping))
	for _, p := range problems(have, all, reasons()) {
		t.Error(p)
	}
	if t.Failed() {
		return
	}
	for who := range have {
		for i := range have[who] {
			mutants(t, have, who, i, all)
		}
	}
}

// distinct returns requests without those that are as an earlier one: most are sent many times.
func distinct(all []asked) []asked {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(a asked) bool {
		text := fmt.Sprintf("%q", []any{a.who, a.action, a.resource, a.keys})
		was := seen[text]
		seen[text] = true
		return was
	})
}

// mutants pins that TestRights would see an action that is missing in a statement, and one that is
// too many.
func mutants(t *testing.T, have roles, who string, i int, all []asked) {
	t.Helper()
	with := func(actions []string) []string {
		other := maps.Clone(have)
		other[who] = slices.Clone(have[who])
		other[who][i].actions = actions
		return problems(other, all, reasons())
	}
	s := &have[who][i]
	for n, a := range s.actions {
		took := slices.ContainsFunc(all, func(q asked) bool {
			return q.who == who && s.allows(&q) && q.action == a
		})
		if took && len(with(slices.Delete(slices.Clone(s.actions), n, n+1))) == 0 {
			t.Errorf("%s: nothing sees that %s lacks %s", who, s.sid, a)
		}
	}
	if len(with(append(slices.Clone(s.actions), "dynamodb:Scan"))) == 0 {
		t.Errorf("%s: nothing sees that %s has dynamodb:Scan", who, s.sid)
	}
}
