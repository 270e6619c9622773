package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"southbound/shared/lang/lsp/lsptest"
)

// TestLanguageServer holds that the program as it is built serves an editor: models with its types,
// their problems, and the exit codes that the protocol wants.
func TestLanguageServer(t *testing.T) {
	t.Parallel()
	bin, dir := build(t), t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	main := filepath.Join(dir, "main.cf")
	model := "import southbound\nimport southbound::fs\na = southbound::Agent(name=\"a\")\n" +
		"f = southbound::fs::File(agent=a, path=\"/tmp/x\", contents=\"\")\n"
	if err := os.WriteFile(main, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := lsptest.Start(ctx, exec.Command(bin, "lsp"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hello(ctx, dir, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Open(ctx, main); err != nil {
		t.Fatal(err)
	}
	find := func(want string) {
		t.Helper()
		_, err := c.Diagnostics(ctx, main, func(p protocol.PublishDiagnosticsParams) bool {
			got := strings.Join(lsptest.Messages(p), "\n")
			return strings.Contains(got, want) && (want != "" || got == "")
		})
		if err != nil {
			t.Error(err)
		}
	}
	find("contents")
	at := protocol.Position{Line: 3, Character: 56}
	end := protocol.Position{Line: 3, Character: 57}
	if got := strings.Split(model, "\n")[3][at.Character:end.Character]; got != "s" {
		t.Fatalf("the edit would replace %q", got)
	}
	if err := c.Edit(ctx, main, 2, protocol.Range{Start: at, End: end}, ""); err != nil {
		t.Fatal(err)
	}
	find("")
	if code, err := c.Bye(ctx); err != nil || code != 0 {
		t.Errorf("exit code %d, %v", code, err)
	}
	if c, err = lsptest.Start(ctx, exec.Command(bin, "lsp")); err != nil {
		t.Fatal(err)
	}
	if code, err := c.Cut(); err != nil || code != 1 {
		t.Errorf("exit code %d, %v", code, err)
	}
}
