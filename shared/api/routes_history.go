package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// releases serves the operations that put versions in force; it is registered wherever exports are.
func (r *routes) releases() {
	serve(r, http.MethodPost, inEnv+"/releases", "release",
		"Put a stored version in force, an earlier or a later one",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				Version int    `json:"version" minimum:"1" maximum:"2147483647"`
				Author  string `json:"author,omitempty" maxLength:"1000" doc:"author of the release"`
				Message string `json:"message,omitempty" maxLength:"10000" doc:"why"`
			}
		}) (*out[ExportDone], error) {
			x, err := r.s.Release(ctx, i.Env, i.Body.Version,
				Origin{Author: i.Body.Author, Message: i.Body.Message})
			return answer(exportDone(x), err)
		})
}

// InVersion holds the parameters of a request about a stored version.
type InVersion struct {
	InEnvironment
	Number int `path:"number" minimum:"1" maximum:"2147483647" doc:"of the version"`
}

// history serves the stored versions.
func (r *routes) history() {
	serve(r, http.MethodPost, inEnv+"/diffs", "compareVersions",
		"Differences of two stored versions", func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				From  int  `json:"from" minimum:"1" maximum:"2147483647"`
				To    int  `json:"to" minimum:"1" maximum:"2147483647"`
				Whole bool `json:"whole,omitempty" doc:"whole values in differences"`
			}
		}) (*out[ReadDone], error) {
			d, err := r.s.Compare(ctx, i.Env, i.Body.From, i.Body.To, i.Body.Whole)
			if err != nil {
				return nil, problemOf(err)
			}
			return answer(r.s.keep(ctx, d))
		})
	serve(r, http.MethodPost, inEnv+"/forget", "forget",
		"Let go of resources that left the model, or of an agent",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body Forgetting
		}) (*out[Forgotten], error) {
			if len(i.Body.Filter) > 0 {
				if err := r.s.exists(ctx, i.Env); err != nil {
					return nil, problemOf(err)
				}
			}
			return answer(r.s.Forget(ctx, i.Env, i.Body))
		})
	serve(r, http.MethodGet, inEnv+"/versions/{number}", "version",
		"One version, with its agents as documents have them",
		func(ctx context.Context, i *InVersion) (*out[Described], error) {
			return answer(r.s.Described(ctx, i.Env, i.Number))
		})
	serve(r, http.MethodGet, inEnv+"/versions/{number}/resources", "versionResources",
		"Resources of a version as documents have them, in no order", r.descriptions)
	serve(r, http.MethodGet, inEnv+"/versions/{number}/files/{hash}", "versionFile",
		"A file that resources of a version refer to", r.file)
}

// file answers with the bytes of a file.
func (r *routes) file(ctx context.Context, i *struct {
	InVersion
	Hash string `path:"hash" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case"`
}) (*rawOut, error) {
	b, err := r.s.VersionFile(ctx, i.Env, i.Number, i.Hash)
	if err == nil && len(b) > maxFetched {
		err = fault.New(fault.Unsupported, "read file",
			"it has %d bytes, and the API gives at most %d", len(b), maxFetched).
			WithHint("read it where the files are stored, by its SHA-256")
	}
	if err != nil {
		return nil, problemOf(err)
	}
	return &rawOut{"application/octet-stream", `"` + i.Hash + `"`,
		"private, immutable, max-age=86400", b}, nil
}

type descriptionsIn struct {
	InVersion
	ID     string `query:"id" minLength:"1" maxLength:"4096" doc:"only the resource with this id"`
	Cursor string `query:"cursor" maxLength:"9" pattern:"^[0-9]+$" doc:"value of next of the previous page"`
}

// descriptions returns one part of a version per page: the cost of a page does not depend on the
// number of parts.
func (r *routes) descriptions(
	ctx context.Context, i *descriptionsIn,
) (*out[Page[Description]], error) {
	n := 0
	if i.Cursor != "" {
		var err error
		if n, err = strconv.Atoi(i.Cursor); err != nil {
			return nil, problemOf(fault.New(fault.Usage, "", "this is not a cursor of this list"))
		}
	}
	items, next, err := r.s.descriptions(ctx, i.Env, i.Number, resource.ID(i.ID), n)
	page := Page[Description]{Items: orEmpty(items)}
	if next > 0 {
		page.Next = strconv.Itoa(next)
	}
	return answer(page, err)
}

// Release implements Home.
func (c *Client) Release(
	ctx context.Context, env string, number int, by Origin,
) (deploy.Exported, error) {
	var done ExportDone
	asked := map[string]any{"version": number}
	if by.Author != "" { // earlier servers reject the member
		asked["author"] = by.Author
	}
	if by.Message != "" {
		asked["message"] = by.Message
	}
	err := c.callExport(ctx, http.MethodPost, envPath(env, "releases"), asked, &done)
	return done.exported(), err
}

// Compare implements Home.
func (c *Client) Compare(
	ctx context.Context, env string, from, to int, whole bool,
) (deploy.DryRun, error) {
	asked := map[string]any{"from": from, "to": to}
	if whole { // earlier servers reject the member
		asked["whole"] = true
	}
	done, err := ask[ReadDone](ctx, c.connection, http.MethodPost, envPath(env, "diffs"), asked)
	if err != nil {
		return deploy.DryRun{}, err
	}
	return c.gather(ctx, env, done)
}

// Described implements Home.
func (c *Client) Described(ctx context.Context, env string, number int) (Described, error) {
	return ask[Described](ctx, c.connection, http.MethodGet,
		envPath(env, "versions/"+strconv.Itoa(number)), nil)
}

// Descriptions implements Home.
func (c *Client) Descriptions(
	ctx context.Context, env string, number int, id resource.ID, f func(*Description) error,
) error {
	q := url.Values{}
	if id != "" {
		q.Set("id", string(id))
	}
	return each(ctx, c.connection, envPath(env, "versions/"+strconv.Itoa(number)+"/resources"), q,
		f)
}

// VersionFile implements Home.
func (c *Client) VersionFile(
	ctx context.Context, env string, number int, hash string,
) ([]byte, error) {
	var b []byte
	err := c.call(ctx, http.MethodGet,
		envPath(env, "versions/"+strconv.Itoa(number)+"/files/"+url.PathEscape(hash)), nil, &b)
	return b, err
}

// Environments implements Home.
func (c *Client) Environments(ctx context.Context) ([]string, error) {
	return all[string](ctx, c.connection, "/v1/environments")
}

// Forget implements Home.
func (c *Client) Forget(ctx context.Context, env string, f Forgetting) (Forgotten, error) {
	return ask[Forgotten](ctx, c.connection, http.MethodPost, envPath(env, "forget"), f)
}
