//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// example: examples/aws works as its page says, on this machine and in the home, once bucket,
// region and endpoint are put in.
func example(t *testing.T, w *world) {
	u, bucket, name := w.user(t, "example"), w.target(t), "southbound-e2e/"+token()
	c, err := awsconfig.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w.stack.Endpoint != "" {
		c.BaseEndpoint = aws.String(w.stack.Endpoint)
	}
	if _, err := secretsmanager.NewFromConfig(c).CreateSecret(t.Context(),
		&secretsmanager.CreateSecretInput{Name: &name,
			SecretString: aws.String("correct horse")}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(w.stack.Root, "examples", "aws")
	for _, file := range []string{"site.yaml", "index.html"} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		replace := []string{"example-site-123456789012", bucket, "eu-central-1", "us-east-1",
			"secretsmanager:site/database", "secretsmanager:" + name, "/site/", "/" + name + "/"}
		if w.stack.Endpoint != "" {
			replace = append(replace, "# endpoint: http://127.0.0.1:4566 ",
				"endpoint: "+w.stack.Endpoint+" ")
		} else {
			replace = append(replace, "# role: arn:aws:iam::123456789012:role/southbound-site",
				"role: "+w.role)
		}
		u.write(t, file, strings.NewReplacer(replace...).Replace(string(text)))
	}
	here := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), w.bin,
			append(args, "--data", filepath.Join(u.dir, ".southbound"))...)
		cmd.Dir, cmd.Env = u.dir, os.Environ()
		if w.stack.Endpoint != "" {
			cmd.Env = append(cmd.Env, "AWS_ENDPOINT_URL="+w.stack.Endpoint)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("southbound %v: %v\n%s", args, err, out)
		}
	}
	here("plan", "site.yaml")
	here("apply", "site.yaml")
	if got, _ := w.object(t, bucket, "index.html"); !strings.Contains(got, "Hello") {
		t.Errorf("the page holds %q", got)
	}
	if s := decode[summary](t, u.run(t, 0, "export", "site.yaml", "--wait", "--timeout", "5m",
		"--json"))[0]; s.Counts["deployed"] != 3 {
		t.Errorf("in the home it answers %+v", s)
	}
}
