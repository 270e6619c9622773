package input

import (
	"context"
	"os"
	"path/filepath"

	"southbound/shared/cli/home"
	"southbound/shared/fault"
	"southbound/shared/lang/modtool"
	"southbound/shared/lang/project"
	"southbound/shared/lang/python/packages"
)

// Bundle returns the packages of the project at a path, for a platform and with a limit of bytes.
func (d *Documents) Bundle(
	ctx context.Context, path string, on packages.Platform, limit int64,
) (*packages.Bundle, error) {
	dir := dirOf(path)
	env := project.Environment(dir, os.Getenv("VIRTUAL_ENV"))
	if env == "" {
		return nil, fault.New(fault.NotFound, "bundle Python packages",
			"%s: the project has no virtual environment", dir).
			WithHint("make one with `southbound project install`")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "bundle Python packages", err)
	}
	o := packages.Options{Env: env, Platform: on, Limit: limit, Say: d.Say,
		Cache: filepath.Join(cache, "southbound", "packages"),
		Variables: func(ctx context.Context) []string {
			tool := Tool(d.Console)
			tool.Dir = dir
			variables, err := modtool.UVEnvironment(ctx, tool)
			if err != nil { // the folder is not a project: uv uses its own configuration
				return nil
			}
			return variables
		}}
	if lock := filepath.Join(dir, packages.LockName); home.IsFile(lock) {
		o.Lock = lock
	}
	if o.Env, err = filepath.Abs(env); err != nil {
		return nil, fault.Wrap(fault.Usage, "bundle Python packages", err)
	}
	return packages.Build(ctx, o)
}
