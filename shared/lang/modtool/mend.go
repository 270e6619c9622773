package modtool

import (
	"os"
	"path/filepath"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
)

// mend removes the remains of an interrupted run: temporary folders of unpacked packages. If pip
// was interrupted, it also removes incomplete packages, which would block pip; pip installs them
// again.
func mend(env string) error {
	site := module.Pure(env)
	left, err := matching(site, ".new-*", ".old-*")
	if err != nil {
		return err
	}
	sites := []string{site}
	if fileThere(filepath.Join(env, mark)) {
		all, err := module.SitePackages(env)
		if err != nil {
			return err
		}
		for _, s := range all {
			broken, err := withoutRecord(s)
			if err != nil {
				return err
			}
			left = append(left, broken...)
		}
		sites = append(sites, all...)
	}
	for _, site := range sites {
		packages, err := matching(filepath.Join(site, module.PluginsPackage), "*")
		if err != nil {
			return err
		}
		for _, path := range packages {
			info, err := os.Lstat(path)
			if err == nil && info.IsDir() && !fileThere(filepath.Join(path, metadata.FileV2)) {
				left = append(left, path)
			}
		}
	}
	return removeAll(left)
}

// withoutRecord returns the remains of a killed pip in a folder of packages: packages without a
// RECORD, which pip refuses to replace, and files of packages that pip was replacing.
func withoutRecord(site string) ([]string, error) {
	left, err := matching(site, "~*")
	if err != nil {
		return nil, err
	}
	infos, err := matching(site, "*.dist-info")
	for _, info := range infos {
		if !fileThere(filepath.Join(info, "RECORD")) {
			left = append(left, info)
		}
	}
	return left, err
}

// matching returns the paths in a folder whose names match patterns.
func matching(dir string, patterns ...string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		for _, p := range patterns {
			ok, err := filepath.Match(p, e.Name())
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, filepath.Join(dir, e.Name()))
			}
		}
	}
	return out, nil
}

// tidy removes the remains of killed runs in a folder, by a pattern of their names.
func tidy(dir, pattern string) error {
	left, err := matching(dir, pattern)
	if err == nil {
		err = removeAll(left)
	}
	return fault.Wrap(fault.Unavailable, "remove leftovers of an interrupted run", err)
}

func removeAll(paths []string) error {
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}
