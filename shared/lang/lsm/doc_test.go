package lsm_test

import (
	"os"
	"regexp"
	"testing"
)

// TestGuide compiles the models of docs/services.md.
func TestGuide(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/services.md")
	if err != nil {
		t.Fatal(err)
	}
	models := regexp.MustCompile("(?ms)^```\n(import .*?)^```$").FindAllSubmatch(page, -1)
	if len(models) < 1 {
		t.Fatal("there is no model on the page")
	}
	for _, m := range models {
		if _, _, err := run(t, nil, string(m[1])); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
	}
}
