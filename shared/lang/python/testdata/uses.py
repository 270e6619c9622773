"""Prints what a module of Python is seen to use, for each of the sources on standard input: JSON, one a line."""
import importlib.util, json, sys, types

kept = {}
host = sys.modules["southbound_host"] = types.ModuleType("southbound_host")
host.folder, host.kept, host.keep = "there is one", kept.get, kept.__setitem__
spec = importlib.util.spec_from_file_location("code_of_host", sys.argv[1])
code = importlib.util.module_from_spec(spec)
spec.loader.exec_module(code)
for line in sys.stdin:
    name, package, source = json.loads(line)
    for known in ["one", "two", "three"], ["one"], []:  # of a project, whose answer is not that of another
        host.folder = ""
        anew = code.uses(name, package, source, known)
        host.folder = "there is one"
        for _ in range(2):  # the second time from what was kept
            assert code.uses(name, package, source, known) == anew, (source, known)
    print(json.dumps(sorted(code.uses(name, package, source, ["one", "two", "three"]))))
assert kept
