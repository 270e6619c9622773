package diffview

import (
	"testing"

	"southbound/shared/diff"
)

func TestKnownAfterApply(t *testing.T) {
	t.Parallel()
	ip := map[string]any{"fact": "ip", "of": "net::Host[a,name=n]"}
	const words = "(known after apply: fact ip of net::Host[a,name=n])"
	for name, c := range map[string]struct {
		d    diff.Diff
		want string
	}{
		"Whole":  {diff.Diff{Desired: ip}, "a: " + words + "\n"},
		"Update": {diff.Diff{Current: "x", Desired: ip}, "a: \"x\" -> " + words + "\n"},
		"Text": {diff.Diff{Desired: map[string]any{"text": []any{"https://", ip, ":8080\""}}},
			"a: \"https://\" " + words + " \":8080\\\"\"\n"},
		"Secret": {diff.Diff{Desired: map[string]any{"text": []any{
			map[string]any{"secret": "env:A"}, "@", ip}}},
			"a: {\"secret\":\"env:A\"} \"@\" " + words + "\n"},
		"Output": {diff.Diff{Desired: map[string]any{"secret": "output:sql::Role[db,name=app]#pw"}},
			"a: (known after apply: secret output pw of sql::Role[db,name=app])\n"},
		"KnownOutput": {diff.Diff{Desired: map[string]any{"secret": "output:sql::Role[db,name=app]#pw",
			"version": "1"}}, "a: {\"secret\":\"output:sql::Role[db,name=app]#pw\",\"version\":\"1\"}\n"},
		"Deep": {diff.Diff{Desired: map[string]any{"v": []any{map[string]any{"w": ip}}}},
			"a: {\"v\":[{\"w\":" + words + "}]}\n"},
		"Lines": {diff.Diff{Current: "one\nip: 1.2.3.4\n", Desired: map[string]any{
			"text": []any{"one\nip: ", ip, "\n"}}},
			"a:\n  @@ -1,2 +1,2 @@\n   one\n  -ip: 1.2.3.4\n  +ip: " + words + "\n"},
		"Other": {diff.Diff{Desired: map[string]any{"fact": "x", "of": "y", "more": true}},
			"a: {\"fact\":\"x\",\"more\":true,\"of\":\"y\"}\n"},
		"NoFact": {diff.Diff{Desired: map[string]any{"text": []any{"a",
			map[string]any{"secret": "env:A"}}}}, "a: {\"text\":[\"a\",{\"secret\":\"env:A\"}]}\n"},
		"Unset": {diff.Diff{Current: "x"}, "a: \"x\" -> nothing\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := KnownAfterApply(map[string]diff.Diff{"a": c.d})
			if got := (Style{}).Changes(changes); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
