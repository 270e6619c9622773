package console

import (
	"slices"
	"strings"
	"testing"

	"southbound/shared/diff"
)

func TestChangesOf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a\n", 500)
	tests := map[string]struct {
		reason string
		change diff.Diff
		sides  bool
		want   attributeChange
	}{
		"Value": {"a short value stands on one line", diff.Diff{Current: "a", Desired: "b"}, false,
			attributeChange{From: `"a"`, To: `"b"`}},
		"Set": {"an attribute that had no value", diff.Diff{Desired: int64(5)}, false,
			attributeChange{From: "nothing", To: "5"}},
		"Secret": {"a secret is never shown", diff.Diff{Current: diff.Redacted, Desired: diff.Redacted},
			false, attributeChange{Note: "changed (secret)"}},
		"SecretSet": {"nor that it was set", diff.Diff{Desired: diff.Redacted}, false,
			attributeChange{Note: "set (secret)"}},
		"SecretGone": {"nor that it was removed", diff.Diff{Current: diff.Redacted}, false,
			attributeChange{Note: "removed (secret)"}},
		"Text": {"texts are unified", diff.Diff{Current: "a\nb\n", Desired: "a\nc\n"}, false,
			attributeChange{Lines: []diffLine{{lineHunk, "", "@@ -1,2 +1,2 @@"}, {"", " ", "a"},
				{lineGone, "-", "b"}, {lineAdded, "+", "c"}}}},
		"Sides": {"or beside each other", diff.Diff{Current: "a\nb\n", Desired: "a\nc\nd\n"}, true,
			attributeChange{Sides: []sideLine{
				{diffLine{lineHunk, "", "@@ -1,2 +1,3 @@"}, diffLine{lineHunk, "", "@@ -1,2 +1,3 @@"}},
				{diffLine{"", " ", "a"}, diffLine{"", " ", "a"}},
				{diffLine{lineGone, "-", "b"}, diffLine{lineAdded, "+", "c"}},
				{diffLine{}, diffLine{lineAdded, "+", "d"}}}}},
		"Controls": {"controls and text direction are visible",
			diff.Diff{Current: "a\nb\x1b[31m\n", Desired: "a\nb\u202e\n"}, false,
			attributeChange{Lines: []diffLine{{lineHunk, "", "@@ -1,2 +1,2 @@"}, {"", " ", "a"},
				{lineGone, "-", `b\x1b[31m`}, {lineAdded, "+", `b\u202e`}}}},
	}
	for name, tc := range tests {
		got := changesOf(map[string]diff.Diff{"content": tc.change}, tc.sides)
		tc.want.Name = "content"
		if len(got) != 1 || got[0].From != tc.want.From || got[0].To != tc.want.To ||
			got[0].Note != tc.want.Note || !slices.Equal(got[0].Lines, tc.want.Lines) ||
			!slices.Equal(got[0].Sides, tc.want.Sides) {
			t.Errorf("%s (%s): %+v", name, tc.reason, got)
		}
	}
	got := changesOf(map[string]diff.Diff{"content": {Unified: "@@ -1 +1 @@\n" + long}}, false)
	if len(got[0].Lines) != maxTextLines || got[0].More != "101 more lines" || !got[0].Long {
		t.Errorf("a long text: %d lines, %q", len(got[0].Lines), got[0].More)
	}
	if got := changesOf(map[string]diff.Diff{"_code": {Desired: "x"}}, false); len(got) != 0 {
		t.Errorf("an attribute for the handler is shown: %+v", got)
	}
}

func TestAttributesOf(t *testing.T) {
	t.Parallel()
	desired := map[string]any{"mode": "0644", "content": "a\nb\n", "owner": "root", "_code": "x"}
	differ, equal := attributesOf(desired, map[string]any{"mode": "0644", "content": "a\nc\n"}, true, false)
	if len(differ) != 1 || differ[0].Name != "content" || len(differ[0].Change.Lines) != 4 {
		t.Errorf("different: %+v", differ)
	}
	if len(equal) != 2 || equal[0].Name != "mode" || equal[0].Unknown || equal[1].Name != "owner" ||
		!equal[1].Unknown {
		t.Errorf("equal: %+v", equal)
	}
	differ, equal = attributesOf(desired, nil, false, false)
	if len(differ) != 0 || len(equal) != 3 || equal[0].Unknown {
		t.Errorf("a thing that does not exist: %+v %+v", differ, equal)
	}
}
