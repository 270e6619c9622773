package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/resource"
)

// TestSecretBytes pins that a secret is the bytes of its source, whatever they are.
func TestSecretBytes(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", "a\r\n", "a\r", "a\n\n", " a ", "\n", "a\nb\n",
		"\xef\xbb\xbfa\n", "\xff\xfe\n", strings.Repeat("x", maxSecret-1) + "\n"} {
		file := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sources := []string{"file:" + file}
		if len(text) < 100 { // a variable has a limit
			t.Setenv("SOUTHBOUND_TEST_SECRET", text)
			sources = append(sources, "env:SOUTHBOUND_TEST_SECRET")
		}
		for _, source := range sources {
			if got, err := readSource(resource.Secret{Source: source}); err != nil || got != text {
				t.Errorf("%.4s of %.20q: %.20q, %v", source, text, got, err)
			}
		}
	}
}

// readSource returns a secret of this machine.
func readSource(ref resource.Secret) (string, error) {
	got, err := newSecrets(nil, "").find(context.Background(), ref, 0)
	return got.value, err
}
