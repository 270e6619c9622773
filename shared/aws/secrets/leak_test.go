//go:build servers

package secrets_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/buildtest"
)

// secretWords are parts of secrets that must be nowhere but where they are wanted.
func secretWords() []string { return []string{"s3cr3t", "r0tated", "intruder"} }

// program is southbound in a directory, with a server of AWS.
type program struct {
	t        *testing.T
	bin, dir string
	env      []string
	said     bytes.Buffer // all that it has written
}

func (p *program) run(args ...string) []byte {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		p.t.Errorf("southbound %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	p.said.Write(out.Bytes())
	p.said.Write(errs.Bytes())
	return out.Bytes()
}

// changed exports and returns how many resources have changed by that.
func (p *program) changed() int {
	p.t.Helper()
	var out struct{ Changed int }
	if text := p.run("export", ".", "--wait", "--json"); json.Unmarshal(text, &out) != nil {
		p.t.Errorf("export answered %s", text)
	}
	return out.Changed
}

const documents = `southbound: 1
defaults: {agent: aws}
agents:
  aws: {transport: aws, region: us-east-1, endpoint: %q}
  here: {transport: local}
resources:
  - type: aws::ssm::Parameter
    attributes: {name: "/%[2]s/copy", kind: SecureString, value: {secret: "secretsmanager:%[2]s#password"}}
  - type: aws::s3::Object
    attributes: {bucket: %[2]s, key: config, content: {secret: "ssm:/%[2]s/source"}, metadata: {kind: config}}
  - type: fs::File
    agent: here
    attributes: {path: %[3]q, content: {secret: "env:LEAK_TEST"}, mode: "0600"}
`

// TestLeaks deploys resources with secrets through the program, rotates them, changes what is there
// behind its back, and looks for the secrets in all that the program says and keeps.
func TestLeaks(t *testing.T) {
	t.Parallel()
	url := server.URL(server.MiniStack)
	cfg := awstest.Config(url, nil)
	name := strings.ToLower(awstest.Unique(t))
	p := newPlace(t, server.MiniStack)
	p.put(t, "/"+name+"/source", "s3cr3t in a parameter")
	if _, err := p.manager.CreateSecret(t.Context(),
		&secretsmanager.CreateSecretInput{Name: &name,
			SecretString: aws.String(`{"password":"s3cr3t \"quoted\""}`)}); err != nil {
		t.Fatal(err)
	}
	objects := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(t.Context(),
		&s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"),
		fmt.Appendf(nil, documents, url, name, file), 0o600); err != nil {
		t.Fatal(err)
	}
	sb := &program{t: t, bin: buildtest.Program(t, buildtest.Southbound), dir: dir,
		env: append(append(os.Environ(), server.Tested(server.MiniStack).Environment()...),
			"LEAK_TEST=s3cr3t of the environment")}
	sb.run("plan", ".")
	if n := sb.changed(); n != 3 {
		t.Errorf("%d changed, expected 3", n)
	}
	if n := sb.changed(); n != 0 {
		t.Errorf("%d changed by the same export", n)
	}
	copied := func(want string) {
		t.Helper()
		out, err := p.ssm.GetParameter(t.Context(),
			&ssm.GetParameterInput{Name: aws.String("/" + name + "/copy"),
				WithDecryption: aws.Bool(true)})
		if err != nil || *out.Parameter.Value != want {
			t.Errorf("the parameter: %v, expected %s", err, want)
		}
	}
	copied(`s3cr3t "quoted"`)

	// A new version is a new intent, and only of what refers to it.
	if _, err := p.manager.PutSecretValue(t.Context(),
		&secretsmanager.PutSecretValueInput{SecretId: &name,
			SecretString: aws.String(`{"password":"r0tated"}`)}); err != nil {
		t.Fatal(err)
	}
	if n := sb.changed(); n != 1 {
		t.Errorf("%d changed by a rotation, expected 1", n)
	}
	copied("r0tated")

	// What somebody else put there is a secret, too.
	p.put(t, "/"+name+"/copy", "intruder")
	if _, err := objects.PutObject(t.Context(),
		&s3.PutObjectInput{Bucket: &name, Key: aws.String("config"),
			Body: strings.NewReader("intruder")}); err != nil {
		t.Fatal(err)
	}
	sb.run("dryrun", "--json")
	sb.run("apply", ".")
	copied("r0tated")
	for _, args := range [][]string{{"resources", "--json"}, {"logs", "--json"},
		{"status", "--json"}, {"logs"}, {"versions", "--json"}, {"agents", "--json"},
		{"plan", ".", "--json"},
		{"resource", "aws::ssm::Parameter[aws,name=/" + name + "/copy]", "--json"}} {
		sb.run(args...)
	}
	for _, word := range secretWords() {
		if i := strings.Index(sb.said.String(), word); i >= 0 {
			t.Errorf("the program said %s: …%s…", word,
				sb.said.String()[max(i-200, 0):min(i+100, sb.said.Len())])
		}
	}
	sb.kept(filepath.Join(dir, ".southbound"))
}

// kept looks for secrets in all files of a directory.
func (p *program) kept(dir string) {
	p.t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		b, err := os.ReadFile(path)
		for _, word := range secretWords() {
			if bytes.Contains(b, []byte(word)) {
				p.t.Errorf("%s holds %s", path, word)
			}
		}
		return err
	})
	if err != nil || n == 0 {
		p.t.Errorf("%d files, %v", n, err)
	}
}
