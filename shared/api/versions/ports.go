package versions

import (
	"context"

	"southbound/shared/api/document"
	"southbound/shared/api/paging"
	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// Query selects a page of the resources of a version.
type Query struct {
	paging.Query
	// Filter are terms that state.ParseFilter reads, and that are not about the state of resources.
	Filter []string
}

// Reader reads stored versions.
type Reader interface {
	// Versions returns the stored versions, ascending.
	Versions(ctx context.Context, env string) ([]Version, error)
	// VersionsPage returns a page of the stored versions, sorted by version or version.desc.
	VersionsPage(ctx context.Context, env string, q paging.Query) (paging.Page[Version], error)
	// Compare returns the changes from one stored version to another, without reading reality. If
	// the first version is in force, Compare also returns why the release of the other would be
	// rejected.
	Compare(ctx context.Context, env string, from, to int, whole bool) (deploy.DryRun, error)
	// Described returns a version with its agents in the form of documents.
	Described(ctx context.Context, env string, number int) (Described, error)
	// Descriptions calls f for the resources of a version in the form of documents, in no order.
	// With an id it calls f for that resource, NotFound if there is none; otherwise for all.
	Descriptions(ctx context.Context, env string, number int, id resource.ID,
		f func(*document.Description) error) error
	// DescriptionsPage returns a page of the resources of a version in the form of documents, sorted
	// by id or id.desc.
	DescriptionsPage(ctx context.Context, env string, number int, q Query,
	) (paging.Page[document.Description], error)
	// VersionFile returns the bytes of a file to which resources of a version refer; NotFound if
	// they refer to no such file.
	VersionFile(ctx context.Context, env string, number int, hash string) ([]byte, error)
}
