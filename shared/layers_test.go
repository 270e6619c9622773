// Package shared holds nothing but tests of the whole: how packages may import each other, and how
// large types are.
package shared

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// layers are the packages of the module, the lowest first: a package imports packages of lower
// layers only, and of its own tree. A tree is named by the start of its path; where two fit, the
// longer one counts, as for the rooms of the engine.
var layers = [][]string{
	{"shared/fault", "shared/diag", "shared/redact", "shared/pattern", "shared/patience",
		"shared/internal/parallel", "shared/internal/dag", "shared/internal/binform", "shared/internal/cborform",
		"shared/internal/pyregexp", "shared/buildtest", "localstack/server", "shared/console/layout",
		"infra/assets/packs"},
	{"shared/child", "shared/resource", "shared/platform", "shared/aws/awserr",
		"shared/schema/internal/puppet", "shared/tf/wire", "shared/internal/flock"},
	{"shared/schema", "shared/service/lifecycle", "shared/internal/secretsource",
		"shared/archive/unpack"},
	{"shared/service/definition", "shared/tf/process", "shared/tf/tftest"},
	{"shared/service/inventory"},
	{"shared/service/callback"},
	{"shared/service/orders"},
	{"shared/diff", "shared/internal/typefile", "shared/entity", "shared/tf/value"},
	{"shared/provider", "shared/diffview", "shared/internal/declared", "shared/tf/packages",
		"shared/tf/adopt"},
	{"shared/transport", "shared/internal/locked"},
	{"shared/deploy/state"},
	{"shared/deploy/step", "shared/internal/seal"},
	{"shared/deploy/model"},
	{"shared/deploy/version"},
	{"shared/deploy/run"},
	{"shared/deploy/worker"},
	{"shared/deploy/planner"},
	{"shared/deploy", "handlers"}, // neither knows the other
	{"shared/scaffold", "shared/internal/source", "shared/lang", "shared/local", "shared/aws",
		"localstack"},
	{"shared/service/catalog", "shared/service/bundle", "shared/service/trial", "shared/service/preview"},
	{"shared/api/wire", "shared/api/chunk"},
	{"shared/api/problem", "shared/api/document", "shared/api/paging"},
	{"shared/api/server", "shared/api/guard", "shared/api/client"},
	{"shared/api/tenant", "shared/api/environments", "shared/api/types", "shared/api/files",
		"shared/api/results"},
	{"shared/api/actions", "shared/api/agents", "shared/api/callbacks", "shared/api/graphs",
		"shared/api/parameters", "shared/api/states", "shared/api/versions"},
	{"shared/api/resources", "shared/api/exports"},
	{"shared/api/search", "shared/api/instances", "shared/api/comparisons", "shared/api/kept", "shared/api/lines"},
	{"shared/api/services", "shared/api/ordering", "shared/api/jobs"},
	{"shared/api/previews"},
	{"shared/api", "shared/compile"},
	{"shared/service/fulfil"},
	{"shared/internal/report", "shared/internal/simtest", "shared/console"},
	{"shared/archive", "shared/cli/output"},
	{"shared/cli/usage", "shared/cli/home"},
	{"shared/cli/input", "shared/cli/actions"},
	{"shared/cli/work"},
	{"shared/cli/batch"},
	{"shared/cli/parts"},
	{"shared/cli/exportcmd", "shared/cli/workcmd", "shared/cli/showcmd", "shared/cli/servicecmd",
		"shared/cli/modulecmd", "shared/cli/modelcmd", "shared/cli/programcmd", "shared/cli/providercmd",
		"shared/cli/servecmd"},
	{"shared/cli"},
	{"cmd", "functions", "infra"},
	{"examples"}, // programs like those of users
}

// TestImportsGoDown pins that imports go down, that the core knows no AWS, that handlers know no
// engine, and that no shared package knows the handlers.
func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != ".." {
			if _, other := os.Stat(filepath.Join(path, "go.mod")); other == nil {
				return fs.SkipDir // another module, such as a provider of tests
			}
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path),
			".."+string(filepath.Separator)))
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			what, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			check(t, path, dir, what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, path, dir, what string) {
	t.Helper()
	from, tree := layerOf(dir)
	if from < 0 {
		t.Errorf("%s: package %s stands in no layer; name it in layers", path, dir)
		return
	}
	if strings.Contains(what, "aws-sdk-go") && !strings.HasPrefix(dir+"/", "functions/") &&
		!strings.Contains(dir+"/", "/aws/") {
		t.Errorf("%s imports %s: only shared/aws, shared/transport/aws, handlers/aws, infra/aws "+
			"and functions know AWS", path, what)
	}
	own, ours := strings.CutPrefix(what, "southbound/")
	if !ours {
		return
	}
	if tree == "handlers" && strings.HasPrefix(own+"/", "shared/deploy/") {
		t.Errorf("%s imports %s: handlers know no engine", path, what)
	}
	if strings.HasPrefix(dir, "shared/") && strings.HasPrefix(own+"/", "handlers/") {
		t.Errorf("%s imports %s: programs say which handlers they have, and pass them", path, what)
	}
	if inFunctions(dir) && (own == "handlers/tf" || strings.HasPrefix(own, "shared/tf/")) {
		t.Errorf("%s imports %s: functions run no providers", path, what)
	}
	if to, other := layerOf(own); to >= from && other != tree {
		t.Errorf("%s imports %s, which does not stand in a lower layer", path, what)
	}
}

// inFunctions reports whether the functions of the AWS home have a package that may know of the bridge to
// Terraform providers.
func inFunctions(dir string) bool {
	return dir == "handlers" || dir == "handlers/tf/agents" || strings.HasPrefix(dir, "functions/")
}

// layerOf returns the layer of a package and the tree it belongs to; -1 when there is none.
func layerOf(dir string) (layer int, tree string) {
	layer = -1
	for n, trees := range layers {
		for _, t := range trees {
			if (dir == t || strings.HasPrefix(dir, t+"/")) && len(t) > len(tree) {
				layer, tree = n, t
			}
		}
	}
	return layer, tree
}
