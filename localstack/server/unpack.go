package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program returns the path of a program: the machine's own, or else that of a Debian package, which
// Unpack unpacks.
func Program(ctx context.Context, pkg, name string) (string, error) {
	if have, err := exec.LookPath(name); err == nil {
		return have, nil
	}
	dir, err := Unpack(ctx, pkg)
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, name)
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("the package %s has no %s: %w", pkg, name, err)
	}
	return program, nil
}

// Unpack returns a folder with the programs of Debian packages. It unpacks them, and those of their
// dependencies that this machine lacks, into the cache folder. It changes nothing else on the
// machine, so it does not require root.
func Unpack(ctx context.Context, packages ...string) (string, error) {
	dir, err := cached(filepath.Join("unpacked", strings.Join(packages, "-")),
		func(dir string) error { return unpack(ctx, dir, packages) })
	return filepath.Join(dir, programs), err
}

// programs is the folder of the programs. It is not bin, because packages contain a bin.
const programs = "programs"

func unpack(ctx context.Context, dir string, packages []string) error {
	bin := filepath.Join(dir, programs)
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "lists", "partial"), 0o755),
		os.MkdirAll(filepath.Join(dir, "debs", "partial"), 0o755),
		os.Mkdir(bin, 0o755)); err != nil {
		return err
	}
	get := []string{"install", "-y", "-qq", "--download-only", "--no-install-recommends", "-o",
		"Debug::NoLocking=1", "-o", "Dir::Cache=" + dir, "-o",
		"Dir::Cache::archives=" + filepath.Join(dir, "debs"), "-o", "APT::Sandbox::User="}
	get = append(get, packages...)
	if err := run(ctx, dir, "apt-get", get...); err != nil {
		// the machine has no package lists, or outdated ones
		lists := []string{"-o", "Dir::State::lists=" + filepath.Join(dir, "lists")}
		update := append([]string{"update", "-qq", "-o", "Debug::NoLocking=1", "-o",
			"Dir::Cache=" + dir, "-o", "APT::Sandbox::User="}, lists...)
		if err := run(ctx, dir, "apt-get", update...); err != nil {
			return err
		}
		if err := run(ctx, dir, "apt-get", append(get, lists...)...); err != nil {
			return err
		}
	}
	debs, err := filepath.Glob(filepath.Join(dir, "debs", "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range debs {
		if err := run(ctx, dir, "dpkg-deb", "-x", deb, dir); err != nil {
			return err
		}
	}
	return errors.Join(wrap(dir, bin), os.RemoveAll(filepath.Join(dir, "debs")),
		os.RemoveAll(filepath.Join(dir, "lists")))
}

// wrap writes scripts that start programs with the paths of their unpacked files.
func wrap(dir, bin string) error {
	libraries, err := filepath.Glob(filepath.Join(dir, "usr", "lib", "*-linux-*"))
	if err != nil {
		return err
	}
	var programs []string
	for _, at := range []string{"bin/*", "sbin/*", "usr/bin/*", "usr/sbin/*"} {
		found, err := filepath.Glob(filepath.Join(dir, at))
		if err != nil {
			return err
		}
		programs = append(programs, found...)
	}
	for _, program := range programs {
		script := fmt.Sprintf(
			"#!/bin/sh\nexport LD_LIBRARY_PATH=%s PYTHONPATH=%s RPM_CONFIGDIR=%s "+
				"PATH=%s:\"$PATH\"\nexec %s \"$@\"\n",
			strings.Join(libraries, ":"), filepath.Join(dir, "usr", "lib", "python3",
				"dist-packages"), filepath.Join(dir, "usr", "lib", "rpm"), bin, program)
		if err := os.WriteFile(filepath.Join(bin, filepath.Base(program)), []byte(script),
			0o755); err != nil {
			return err
		}
	}
	return nil
}
