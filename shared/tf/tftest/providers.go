package tftest

import (
	"os"
	"path/filepath"
	"testing"

	"southbound/localstack/server"
)

// Framework returns the path of a provider of version 6, "fw", whose resources live in a Store.
func Framework(t testing.TB) string { return module(t, "framework") }

// SDK returns the path of a provider of version 5, "sdk", whose resources live in a Store.
func SDK(t testing.TB) string { return module(t, "sdk") }

// Time returns the path of the provider "time", which is real and speaks version 5.
func Time(t testing.TB) string {
	t.Helper()
	path, err := server.InstallTimeProvider(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// OpenStack returns the path of the provider "openstack", which is real, speaks version 5 and has more
// than a hundred types. Without a cloud it can be asked for schemas, validations and plans.
func OpenStack(t testing.TB) string {
	t.Helper()
	path, err := server.InstallOpenStackProvider(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// module builds a provider of shared/tf/testdata.
func module(t testing.TB, name string) string {
	t.Helper()
	root, err := os.Getwd()
	for err == nil && !exists(filepath.Join(root, "shared", "tf", "testdata")) {
		if filepath.Dir(root) == root {
			t.Fatal("the test does not run in the source tree")
		}
		root = filepath.Dir(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	path, err := server.BuildModule(t.Context(), filepath.Join(root, "shared", "tf", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
