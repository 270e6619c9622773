//go:build servers

package functions_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/examples/keys/keystest"
	"southbound/handlers"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/deploy/state"
)

// TestPackTransport pins that the functions know the transport that a pack brings: the export
// function checks agents by it, and the handler function connects them, with a secret of AWS; and
// so does the program as a runner.
func TestPackTransport(t *testing.T) {
	dir, err := filepath.Abs("../examples/keys")
	if err != nil {
		t.Fatal(err)
	}
	program := buildFrom(t, dir)
	store := keystest.New(t, nil)
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	secret, password := "/"+stack.Config.Prefix+"/store", keystest.Password
	if _, err := ssm.NewFromConfig(*stack.Config.AWS).PutParameter(t.Context(),
		&ssm.PutParameterInput{
			Name: &secret, Value: &password, Type: types.ParameterTypeSecureString}); err != nil {
		t.Fatal(err)
	}
	key, colour := "archives/site.tar.gz", "green"
	export := func(transport string) answer {
		document := fmt.Sprintf("southbound: 1\nagents: {store: {transport: %s, address: %q, "+
			"password: {secret: \"ssm:%s\"}}}\ndefaults: {agent: store}\nresources:\n"+
			"  - {type: keys::Entry, attributes: {name: colour, value: %s}}\n", transport,
			store.Address,
			secret, colour)
		if _, err := h.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &stack.Config.Bucket,
			Key: &key, Body: bytes.NewReader(packed(t, document))}); err != nil {
			t.Fatal(err)
		}
		return start(t, stack, program, "SOUTHBOUND_FUNCTION=export").invoke(
			`{"key":"` + key + `","environment":"prod"}`)
	}
	if a := export("kays"); !strings.Contains(a.body, `there is no transport \"kays\"`) {
		t.Errorf("a transport that there is not: %s", a.body)
	}
	if a := export("keys"); !strings.Contains(a.body, `"resources":1,"changed":1,`) {
		t.Fatalf("export: %+v", a)
	}
	if err := h.Notifier.Notify(t.Context(), "prod",
		[]state.Notice{{Agent: "store"}}); err != nil {
		t.Fatal(err)
	}
	a := start(t, stack, program, "SOUTHBOUND_FUNCTION=handler").invoke(received(t, h, "store"))
	if a.body != done {
		t.Errorf("handler: %+v", a)
	}
	if got, err := store.World(""); err != nil || got != "\"colour\"=\"green\"\n" {
		t.Errorf("%v: the store holds %s", err, got)
	}

	colour = "red"
	if a := export("keys"); !strings.Contains(a.body, `"resources":1,"changed":1,`) {
		t.Fatalf("export: %+v", a)
	}
	var said hometest.Lines
	cmd := exec.Command(program, "agent", "run", "store", "--environment", "prod", "--data",
		t.TempDir())
	cmd.Env, cmd.Stderr = environment(stack.Config), &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Signal(os.Interrupt), cmd.Wait() }()
	hometest.Until(t, "a runner has set it", func() bool {
		got, err := store.World("")
		return err == nil && got == "\"colour\"=\"red\"\n"
	})
}
