"""CPU seconds of the reference compiler for the model in a folder; start-up of Python and what it loads are taken off.

    python reference.py DIR   ->   {"load": s, "compile": s, "rss_mib": n}
"""
import json, logging, os, resource, sys, time

logging.disable(logging.CRITICAL)
import inmanta.compiler as compiler
import inmanta.module as module
import inmanta.execute.scheduler, inmanta.parser.plyInmantaParser
import inmanta_plugins.std

d = sys.argv[1]
os.makedirs(os.path.join(d, "libs"), exist_ok=True)
with open(os.path.join(d, "project.yml"), "w") as f:
    f.write("name: bench\nmodulepath: [libs]\ndownloadpath: libs\n")
os.chdir(d)
began = time.process_time()
project = module.Project(d)
module.Project.set(project, clean=False)
project.load()
loaded = time.process_time()
compiler.do_compile()
done = time.process_time()
print(json.dumps({"load": loaded - began, "compile": done - loaded, "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))
