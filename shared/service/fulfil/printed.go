package fulfil

import (
	"encoding/json"
	"strings"
	"sync"

	"southbound/shared/diff"
	"southbound/shared/redact"
	"southbound/shared/service/inventory"
)

// secrets are the passwords and the environment variables that a model reads while it is compiled.
// A model may print them.
type secrets struct {
	mu  sync.Mutex
	set redact.Set
}

func (s *secrets) add(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.Add(value)
}

// clean returns a text without the secrets.
func (s *secrets) clean(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set.Clean(text, diff.Redacted)
}

// printed returns the output of the model, without secrets. Each of n instances keeps it, and all
// together keep at most inventory.MaxOutput.
func (c *compiled) printed(n int) string {
	if c == nil || c.Compiled == nil || c.Result == nil || c.Output == "" {
		return ""
	}
	return firstPart(c.read.clean(c.Output), inventory.MaxOutput/max(n, 1))
}

// firstPart returns a text, or its beginning with a mark, such that it takes at most n bytes of JSON.
func firstPart(text string, n int) string {
	const mark = "…"
	size := func(s string) int {
		b, _ := json.Marshal(s) // a string never fails
		return len(b)
	}
	if size(text) <= n {
		return text
	}
	low, high := 0, min(len(text), n) // text[:low] fits
	for low < high {
		mid := (low + high + 1) / 2
		if size(strings.ToValidUTF8(text[:mid], "")+mark) <= n {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return strings.ToValidUTF8(text[:low], "") + mark
}
