//go:build servers

package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"southbound/localstack/server"
)

// goods is a module with a plugin and a handler, both slow.
const goods = `
import os, time
from inmanta.agent.handler import CRUDHandler, ResourcePurged, provider
from inmanta.plugins import plugin
from inmanta.resources import PurgeableResource, resource

@plugin
def text(n: int) -> str:
    time.sleep(0.1)
    return f"goods {n}"

@resource("shop::Good", agent="agent", id_attribute="path")
class Good(PurgeableResource):
    fields = ("path", "text")

@provider("shop::Good", name="goods")
class Handler(CRUDHandler[Good]):
    def read_resource(self, ctx, r):
        try:
            r.text = open(r.path).read()
        except OSError:
            raise ResourcePurged()

    def create_resource(self, ctx, r):
        time.sleep(0.1)
        with open(r.path, "a") as f:
            f.write(r.text)
        ctx.set_created()
`

// TestPausesPython is TestPauses with a module in Python: the guard and the host of each process are
// among those that are stopped.
func TestPausesPython(t *testing.T) {
	t.Parallel()
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &paused{T: t, bin: build(t), dir: t.TempDir(), seed: *pauseSeed}
	if err := os.Symlink(env, filepath.Join(p.dir, ".env")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"libs/shop/model", "libs/shop/plugins"} {
		if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.write("project.yml", "name: test\nmodulepath: [libs]\n")
	p.write("libs/shop/module.yml", "name: shop\nversion: 0.1\nlicense: none\n")
	p.write("libs/shop/plugins/__init__.py", goods)
	p.write("libs/shop/model/_init.cf", `
entity Good extends std::PurgeableResource:
    string path
    string text
    string agent = "here"
end
implement Good using std::none
`)
	p.write("main.cf", `
import shop
for n in [0, 1, 2]:
    shop::Good(path=f"DIR/{n}", text=shop::text(n))
end
`)
	p.run(0, "apply", ".", "--data", "data")
	p.is("0", "goods 0")
	p.is("1", "goods 1")
	p.is("2", "goods 2")
}
