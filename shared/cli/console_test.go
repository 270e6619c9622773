package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"time"

	"southbound/shared/internal/simtest/consoletest"
)

// visit is a program of the scripts: it opens the address of a page, as a browser without script
// does, and then each further address, and prints the status and the text of each page. It returns
// its exit code.
func visit(out io.Writer, addresses []string) int {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return 2
	}
	c := &http.Client{Jar: jar, Timeout: time.Minute}
	for _, address := range addresses {
		res, err := c.Get(address) //nolint:noctx // the client has a limit
		if err != nil {
			_, _ = fmt.Fprintln(out, err)
			return 1
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return 1
		}
		_, _ = fmt.Fprintln(out, res.StatusCode, consoletest.TextOf(string(text)))
	}
	return 0
}
