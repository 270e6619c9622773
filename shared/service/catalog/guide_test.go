package catalog_test

import (
	"os"
	"regexp"
	"testing"
)

// TestGuide offers the services of the models of docs/catalog.md.
func TestGuide(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	models := regexp.MustCompile("(?ms)^```\n(import .*?)^```$").FindAllSubmatch(page, -1)
	if len(models) < 2 {
		t.Fatalf("there are %d models on the page", len(models))
	}
	for _, m := range models {
		if all, err := services(t, string(m[1])); err != nil || len(all) != 1 {
			t.Errorf("%d services: %v\n%s", len(all), err, m[1])
		}
	}
}
