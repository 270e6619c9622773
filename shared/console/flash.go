package console

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// flashLife is how long a message waits for its page.
const flashLife = time.Minute

// maxFlashes is how many messages wait at the same time.
const maxFlashes = 1000

// flashes are messages of actions for the page that follows, by session and URL.
type flashes struct {
	now func() time.Time

	mu  sync.Mutex
	all map[flashKey]flashText
}

type flashKey struct{ session, url string }

type flashText struct {
	text  string
	until time.Time
}

func newFlashes(now func() time.Time) *flashes {
	return &flashes{now: now, all: map[flashKey]flashText{}}
}

// put stores a message for the next page at a URL.
func (f *flashes) put(who *session, url, text string) {
	if who == nil || text == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	for k, x := range f.all {
		if !now.Before(x.until) || len(f.all) >= maxFlashes {
			delete(f.all, k)
		}
	}
	url, _, _ = strings.Cut(url, "#")
	f.all[flashKey{who.key, url}] = flashText{text, now.Add(flashLife)}
}

// take returns the message for a URL and removes it; "": none.
func (f *flashes) take(who *session, url string) string {
	if who == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	k := flashKey{who.key, url}
	x := f.all[k]
	delete(f.all, k)
	if !f.now().Before(x.until) {
		return ""
	}
	return x.text
}

// flash sets the message that the page after the redirect shows.
func (r *request) flash(format string, args ...any) { r.said = fmt.Sprintf(format, args...) }
