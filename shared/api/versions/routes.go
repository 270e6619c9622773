package versions

import (
	"context"
	"net/http"
	"strconv"

	"southbound/shared/api/document"
	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/results"
	"southbound/shared/api/server"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Routes serves the stored versions.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/versions", "versions",
		"Versions, ascending unless sorted otherwise",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			paging.Paging
			paging.Counting
			Sort string `query:"sort" pattern:"^version(\\.(asc|desc))?$" doc:"version.desc: the newest first"`
		}) (*server.Out[paging.Page[Version]], error) {
			return server.Answer(s.VersionsPage(ctx, i.Env, paging.Query{Sort: i.Sort,
				Cursor: i.Cursor, Limit: i.Limit.Limit, Count: i.Count}))
		})
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/diffs", "compareVersions",
		"Differences of two stored versions", func(ctx context.Context, i *struct {
			server.InEnvironment
			Body struct {
				From  int  `json:"from" minimum:"1" maximum:"2147483647"`
				To    int  `json:"to" minimum:"1" maximum:"2147483647"`
				Whole bool `json:"whole,omitempty" doc:"whole values in differences"`
			}
		}) (*server.Out[results.ReadDone], error) {
			d, err := s.Compare(ctx, i.Env, i.Body.From, i.Body.To, i.Body.Whole)
			if err != nil {
				return nil, problem.Of(err)
			}
			return server.Answer(s.Results.Keep(ctx, d))
		})
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/versions/{number}", "version",
		"One version, with its agents as documents have them",
		func(ctx context.Context, i *InVersion) (*server.Out[Described], error) {
			return server.Answer(s.Described(ctx, i.Env, i.Number))
		})
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/versions/{number}/resources",
		"versionResources",
		"Resources of a version as documents have them, in no order unless sort is given",
		s.descriptionsPage)
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/versions/{number}/files/{hash}",
		"versionFile",
		"A file that resources of a version refer to", s.file)
}

// InVersion holds the parameters of a request about a stored version.
type InVersion struct {
	server.InEnvironment
	Number int `path:"number" minimum:"1" maximum:"2147483647" doc:"of the version"`
}

// file answers with the bytes of a file.
func (s *Service) file(ctx context.Context, i *struct {
	InVersion
	Hash string `path:"hash" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case"`
}) (*server.File, error) {
	b, err := s.VersionFile(ctx, i.Env, i.Number, i.Hash)
	if err == nil && len(b) > maxFetched {
		err = fault.New(fault.Unsupported, "read file",
			"it has %d bytes, and the API gives at most %d", len(b), maxFetched).
			WithHint("read it where the files are stored, by its SHA-256")
	}
	if err != nil {
		return nil, problem.Of(err)
	}
	return &server.File{ContentType: "application/octet-stream", ETag: `"` + i.Hash + `"`,
		CacheControl: "private, immutable, max-age=86400", Body: b}, nil
}

type descriptionsIn struct {
	InVersion
	paging.Limit
	paging.Counting
	ID     string   `query:"id" minLength:"1" maxLength:"4096" doc:"only the resource with this id"`
	Sort   string   `query:"sort" pattern:"^id(\\.(asc|desc))?$" doc:"pages in this order; without it, pages have no order and any number of items, and filter and count are rejected"`
	Cursor string   `query:"cursor" minLength:"1" maxLength:"4096" doc:"value of next of the previous page"`
	Filter []string `query:"filter,explode" maxItems:"20" nullable:"false" doc:"as the filter of resources, without terms about their state"`
}

// descriptionsPage returns a page in the requested order. Without an order, it returns one part of a
// version per page: the cost of a page then does not depend on the number of parts.
func (s *Service) descriptionsPage(
	ctx context.Context, i *descriptionsIn,
) (*server.Out[paging.Page[document.Description]], error) {
	if i.Sort != "" && i.ID == "" {
		return server.Answer(s.DescriptionsPage(ctx, i.Env, i.Number, Query{Query: paging.Query{
			Sort: i.Sort, Cursor: i.Cursor, Limit: i.Limit.Limit, Count: i.Count}, Filter: i.Filter}))
	}
	if len(i.Filter) > 0 || i.Count || i.Sort != "" {
		return nil, problem.Of(fault.New(fault.Usage, "",
			"filter and count select pages in an order, and id one resource").
			WithHint("add sort=id, and leave out id"))
	}
	n := 0
	if i.Cursor != "" {
		var err error
		if n, err = strconv.Atoi(i.Cursor); err != nil {
			return nil, problem.Of(fault.New(fault.Usage, "", "this is not a cursor of this list"))
		}
	}
	items, next, err := s.descriptions(ctx, i.Env, i.Number, resource.ID(i.ID), n)
	page := paging.Page[document.Description]{Items: wire.OrEmpty(items)}
	if next > 0 {
		page.Next = strconv.Itoa(next)
	}
	return server.Answer(page, err)
}
