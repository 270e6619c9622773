package compile_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/compile"
)

// TestMaxSteps has project.yml say how many steps a model may take.
func TestMaxSteps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ setting, want string }{
		{"100000", ""},
		{"1000", "main.cf:1:1: the model takes too long: it is not done after 2048 steps"},
		{"0", "project.yml:4:25: southbound_max_steps is 0: it is a whole number from 1 to"},
		{"1.5", "southbound_max_steps is 1.5: it is a whole number from 1 to"},
		{"many", "project.yml:4:25: southbound_max_steps is many: that is not a number"},
	} {
		t.Run(test.setting, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{
				"main.cf": "for i in std::sequence(10000):\n    x = i + 1\nend\n",
				"project.yml": "name: x\nmodulepath: libs\nenvironment_settings:\n" +
					"  southbound_max_steps: " + test.setting + "\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := compile.Model(context.Background(), compile.Options{
				Path: dir, Types: registry(t),
			})
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("the error is %v, and not %q", err, test.want)
			}
		})
	}
}
