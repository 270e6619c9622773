# Takes the modules of the host from the first frame, so that nothing is written to disk, and serves.
import json, linecache, os, struct, sys, types
from importlib.machinery import ModuleSpec

source = os.fdopen(3, "rb", closefd=False)
files = json.loads(source.read(struct.unpack("<I", source.read(4))[0]))
package = types.ModuleType("southbound_host")

class Finder:
    """Finds the modules of the host."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith("southbound_host."):
            return ModuleSpec(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__.split(".")[1]
        path, text = "<southbound>/" + name + ".py", files[name]
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        exec(compile(text, path, "exec"), module.__dict__)

package.__path__ = []
sys.modules["southbound_host"] = package
sys.meta_path.insert(0, Finder())
from southbound_host import main

main.serve(source)
