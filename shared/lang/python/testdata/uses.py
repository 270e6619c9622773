"""Prints what a module of Python is seen to use, for each of the sources on standard input: JSON, one a line."""
import importlib.util, json, sys

spec = importlib.util.spec_from_file_location("code_of_host", sys.argv[1])
code = importlib.util.module_from_spec(spec)
spec.loader.exec_module(code)
for line in sys.stdin:
    name, package, source = json.loads(line)
    print(json.dumps(sorted(code.uses(name, package, source, ["one", "two", "three"]))))
