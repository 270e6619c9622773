"""CPU seconds of the reference for a model in a folder and its resources, with and without what is loaded first.

    python export.py DIR   ->   {"whole": s, "work": s}
"""
import json, logging, os, sys, time

logging.disable(logging.CRITICAL)
import inmanta.compiler as compiler
import inmanta.module as module
from inmanta.export import Exporter
import inmanta.execute.scheduler, inmanta.parser.plyInmantaParser

os.chdir(sys.argv[1])
began = time.process_time()
project = module.Project(".")
module.Project.set(project, clean=False)
project.load()
types, scopes = compiler.do_compile()
Exporter().run(types, scopes, no_commit=True)
done = time.process_time()
print(json.dumps({"whole": done, "work": done - began}))
