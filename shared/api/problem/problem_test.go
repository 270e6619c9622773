// Package problem writes errors as bodies of answers, in the form of RFC 9457, and reads them back
// into the same errors.
package problem

import (
	"testing"

	"southbound/shared/diag"
)

// TestModelsHaveCodes pins that each problem of a model has a code, also one of a resource that was
// found like one of a document, and no other problem has one for that.
func TestModelsHaveCodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, code, want string }{
		{"main.cf", "", "resource"}, {"main.cf", "double_set", "double_set"}, {"a.yaml", "", ""},
	} {
		w := WrongOf(diag.Problem{Pos: diag.Pos{File: tc.file, Line: 1}, Code: tc.code})
		if w.Code != tc.want || (w.Related != nil) != (tc.want != "") {
			t.Errorf("%+v: %q, %v", tc, w.Code, w.Related)
		}
	}
}
