package consoletest

import (
	"context"

	"southbound/shared/api"
	"southbound/shared/api/agents"
	"southbound/shared/api/search"
	"southbound/shared/api/versions"
	"southbound/shared/deploy/state"
)

// ResourcesPage implements api.Home.
func (f *Faulty) ResourcesPage(
	ctx context.Context, env string, q api.ResourcesQuery,
) (page api.Page[api.Resource], err error) {
	if err = f.Before("ResourcesPage"); err == nil {
		page, err = f.Home.ResourcesPage(ctx, env, q)
	}
	return page, err
}

// AgentsPage implements api.Home.
func (f *Faulty) AgentsPage(
	ctx context.Context, env string, q api.AgentsQuery,
) (page api.Page[agents.Agent], err error) {
	if err = f.Before("AgentsPage"); err == nil {
		page, err = f.Home.AgentsPage(ctx, env, q)
	}
	return page, err
}

// ParametersPage implements api.Home.
func (f *Faulty) ParametersPage(
	ctx context.Context, env string, q api.ParametersQuery,
) (page api.Page[state.Parameter], err error) {
	if err = f.Before("ParametersPage"); err == nil {
		page, err = f.Home.ParametersPage(ctx, env, q)
	}
	return page, err
}

// VersionsPage implements api.Home.
func (f *Faulty) VersionsPage(
	ctx context.Context, env string, q api.PageQuery,
) (page api.Page[versions.Version], err error) {
	if err = f.Before("VersionsPage"); err == nil {
		page, err = f.Home.VersionsPage(ctx, env, q)
	}
	return page, err
}

// DescriptionsPage implements api.Home.
func (f *Faulty) DescriptionsPage(
	ctx context.Context, env string, number int, q api.VersionQuery,
) (page api.Page[api.Description], err error) {
	if err = f.Before("DescriptionsPage"); err == nil {
		page, err = f.Home.DescriptionsPage(ctx, env, number, q)
	}
	return page, err
}

// ActionsPage implements api.Home.
func (f *Faulty) ActionsPage(
	ctx context.Context, env string, q api.ActionQuery,
) (page api.Page[api.Action], err error) {
	if err = f.Before("ActionsPage"); err == nil {
		page, err = f.Home.ActionsPage(ctx, env, q)
	}
	return page, err
}

// Search implements api.Home.
func (f *Faulty) Search(
	ctx context.Context, env, text string, limit int,
) (search.Hits, error) {
	if err := f.Before("Search"); err != nil {
		return search.Hits{}, err
	}
	return f.Home.Search(ctx, env, text, limit)
}

// AuditPage implements api.Home.
func (f *Faulty) AuditPage(
	ctx context.Context, env string, q api.AuditQuery,
) (page api.Page[api.Audited], err error) {
	if err = f.Before("AuditPage"); err == nil {
		page, err = f.Home.AuditPage(ctx, env, q)
	}
	return page, err
}
