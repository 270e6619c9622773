package std_test

import (
	"testing"

	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
)

// TestReferences pins of which type references are, and that equal ones are equal.
func TestReferences(t *testing.T) {
	t.Parallel()
	name := std.Reference{Class: std.EnvironmentReference, Value: "HOME"}
	number := std.Reference{Class: std.IntReference, Value: name}
	if name.Of() != types.Type(types.String) || number.Of() != types.Type(types.Int) {
		t.Errorf("they are of %s and %s", name.Of(), number.Of())
	}
	same := std.Reference{Class: std.EnvironmentReference, Value: "HOME"}
	if !types.Equal(name, same) || types.Equal(name, number) {
		t.Error("references of the same variable are not equal, or others are")
	}
}
