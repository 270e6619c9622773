package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/pattern"
)

// Comment is the place of a comment on a pull request of GitHub. A later comment replaces it.
type Comment struct {
	API        string // https://api.github.com
	Repository string // owner/name
	Number     int    // of the pull request
	Token      string // needs permission to write comments
	Marker     string // distinguishes comments for several environments
}

var repositoryName = pattern.Lazy(`^[\w.-]+/[\w.-]+$`)

// mark returns the invisible text by which Put finds the comment again.
func (c *Comment) mark() string {
	return "<!-- southbound: " + regexp.MustCompile(`[^\w./-]+`).ReplaceAllString(c.Marker, "-") +
		" -->"
}

// Put writes the comment. It returns Denied if the token lacks the permission, as in pull requests
// from forks, and Unavailable if GitHub cannot be reached.
func (c *Comment) Put(ctx context.Context, markdown string) error {
	if !repositoryName().MatchString(c.Repository) || c.Number < 1 {
		return fault.New(fault.Usage, "comment", "no pull request is known").
			WithHint("set GITHUB_REPOSITORY, and run for a pull request")
	}
	id, err := c.find(ctx)
	if err != nil {
		return err
	}
	body := map[string]string{"body": c.mark() + "\n" + markdown}
	if id == 0 {
		return c.call(ctx, http.MethodPost, fmt.Sprintf("/repos/%s/issues/%d/comments",
			c.Repository, c.Number), body, nil)
	}
	return c.call(ctx, http.MethodPatch, fmt.Sprintf("/repos/%s/issues/comments/%d", c.Repository,
		id), body, nil)
}

// find returns the id of the existing comment, or 0 if there is none.
func (c *Comment) find(ctx context.Context) (int64, error) {
	const page = 100
	for n := 1; ; n++ {
		var comments []struct {
			ID   int64  `json:"id"`
			Body string `json:"body"`
		}
		path := fmt.Sprintf("/repos/%s/issues/%d/comments?per_page=%d&page=%d", c.Repository,
			c.Number, page, n)
		if err := c.call(ctx, http.MethodGet, path, nil, &comments); err != nil {
			return 0, err
		}
		for i := range comments {
			if strings.HasPrefix(comments[i].Body, c.mark()) {
				return comments[i].ID, nil
			}
		}
		if len(comments) < page {
			return 0, nil
		}
	}
}

const (
	callLimit = 30 * time.Second
	maxReply  = 32 << 20
)

func (c *Comment) call(ctx context.Context, method, path string, body, reply any) error {
	ctx, cancel := patience.WithTimeout(ctx, callLimit)
	defer cancel()
	sent, err := json.Marshal(body)
	if err != nil {
		return fault.Wrap(fault.Internal, "comment", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.API, "/")+path,
		bytes.NewReader(sent))
	if err != nil {
		return fault.Wrap(fault.Usage, "comment", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fault.Wrap(fault.Unavailable, "comment", err)
	}
	defer res.Body.Close()
	switch code := res.StatusCode; {
	case code == http.StatusForbidden, code == http.StatusUnauthorized, code == http.StatusNotFound:
		return fault.New(fault.Denied, "comment", "GitHub answered %s", res.Status).
			WithHint("the job needs `permissions: {pull-requests: write}`; pull requests from " +
				"forks never get it, and have the job summary")
	case code >= http.StatusBadRequest:
		return fault.New(fault.Unavailable, "comment", "GitHub answered %s", res.Status)
	}
	if reply == nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, "comment",
		json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(reply))
}
