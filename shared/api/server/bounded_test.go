package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/humatest"
)

// TestBodiesAtOnce pins how many bodies of requests about services are handled at the same time, and
// how many bytes, and that the others wait until there is room, or their client goes away.
func TestBodiesAtOnce(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		tag          string
		limit        int64
		asked, among int
	}{
		"many short ones":  {ServicesTag, 64 << 10, 200, bodiesAtOnce},
		"long ones":        {ServicesTag, 1 << 20, 50, bytesAtOnce >> 20},
		"those of others":  {"other", 1 << 20, 100, 100},
		"no more than may": {ServicesTag, 1 << 10, bodiesAtOnce, bodiesAtOnce},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, goOn := newBodies(), make(chan struct{})
			inside := make(chan struct{}, c.asked+1)
			ask := func(ctx context.Context) {
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader("{}"))
				op := &huma.Operation{Tags: []string{c.tag}, MaxBodyBytes: c.limit,
					RequestBody: &huma.RequestBody{}}
				b.bounded(humatest.NewContext(op, r, httptest.NewRecorder()), func(huma.Context) {
					inside <- struct{}{}
					<-goOn
				})
			}
			for range c.asked {
				go ask(t.Context())
			}
			synctest.Wait()
			if n := len(inside); n != c.among {
				t.Errorf("%s: %d at once, and not %d", why, n, c.among)
			}
			gone, leave := context.WithCancel(t.Context())
			left := make(chan struct{})
			go func() { ask(gone); close(left) }()
			synctest.Wait()
			if leave(); len(inside) < c.asked { // it waits, and its client goes away
				<-left
			}
			close(goOn)
			synctest.Wait()
			if n := len(inside); n < c.asked || n > c.asked+1 {
				t.Errorf("%s: %d handled of %d", why, n, c.asked)
			}
		})
	}
}
