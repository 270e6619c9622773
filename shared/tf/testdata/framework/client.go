package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// document is a thing as the store has it.
type document struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
	Size int64  `json:"size"`
	Pin  string `json:"pin,omitempty"`
	// Secret is read only: a thing that another program has made may have it.
	Secret string `json:"secret,omitempty"`

	Any   json.RawMessage   `json:"any,omitempty"`
	Tags  map[string]string `json:"tags,omitempty"`
	Parts []part            `json:"parts,omitempty"`
}

// part is a nested object whose number the store assigns.
type part struct {
	Name string `json:"name"`
	No   int64  `json:"no"`
}

// store is a client of the HTTP store.
type store struct{ url, token string }

var errGone = errors.New("there is no such thing")

// do sends a request and decodes the answer into out, unless out is nil.
func (s *store) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	q, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+s.token)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	switch {
	case err != nil:
		return err
	case a.StatusCode == http.StatusNotFound:
		return errGone
	case a.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("%s %s: %s: %s", method, path, a.Status, b)
	case out == nil:
		return nil
	}
	return json.Unmarshal(b, out)
}
