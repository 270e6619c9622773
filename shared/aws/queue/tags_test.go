package queue_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"southbound/shared/aws/queue"
)

// TestTagsNameInFull pins that the tags of a queue say whose it is, whatever the names are, within
// what AWS takes.
func TestTagsNameInFull(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("über/", 300)
	for _, name := range []string{"", "web1", "=", "=41", "a b", " ", "a,b;c", "日本", "\xff\xfe",
		"a\x00b", "😀", long, strings.Repeat("=", 300)} {
		tags := queue.AgentTags("e "+name, name)
		for key, value := range tags {
			if n := utf8.RuneCountInString(value); n > 256 || len(key) > 128 ||
				strings.TrimSpace(value) != value || strings.ContainsAny(value, ",;*?\x00😀") {
				t.Errorf("%q: tag %s has the value %q", name, key, value)
			}
		}
		if len(tags) > 16 {
			t.Errorf("%q takes %d tags", name, len(tags))
		}
		env, agent, ok := queue.OwnerOf(tags)
		if !ok || env != "e "+name || agent != name {
			t.Errorf("%q: the tags say %q in %q, %v", name, agent, env, ok)
		}
	}
	for _, tags := range []map[string]string{nil, {queue.TagAgent: "a"},
		{queue.TagEnvironment: "e", queue.TagAgent: "=4"},
		{queue.TagEnvironment: "e", queue.TagAgent: "=XX"}} {
		if env, agent, ok := queue.OwnerOf(tags); ok {
			t.Errorf("%v name %q in %q", tags, agent, env)
		}
	}
}
