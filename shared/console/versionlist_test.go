package console_test

import (
	"net/http"
	"testing"

	"southbound/handlers"
	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
)

// TestVersionsCompare: the form of the list compares the version in force with another one.
func TestVersionsCompare(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	b := signedIn(t, console.New(w.Service, realTime()))
	form := formOf(t, b.Get("/console/production/versions", http.StatusOK), "from")
	if form.Get("from") != "2" || form.Get("to") != "1" {
		t.Errorf("it compares %v", form)
	}
}
