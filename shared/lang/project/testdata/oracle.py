#!/usr/bin/env python3
"""Asks the reference compiler faster: the same cases and results as its oracle, some 60 models a second instead of 5.

    python oracle.py PATH/TO/compile.py < cases.jsonl > results.jsonl

The oracle starts a process for each model, which loads the plugins of std and parses std. Here the process that is copied has done
both, and each copy compiles a batch of models. What differs is to be tried again with BATCH=1, where no model sees what another left.
"""
import gc, importlib.util, inspect, json, os, shutil, signal, sys, tempfile

spec = importlib.util.spec_from_file_location("oracle", sys.argv[1])
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)
from inmanta.parser.plyInmantaParser import cache_manager

SECONDS, BATCH = 30, int(os.environ.get("BATCH", "20"))
places = tempfile.mkdtemp(prefix="oracle-cases-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
cached = os.path.join(places, "std")


def share_std():
    """Lets all projects share the parsed texts of std. Texts of models are not kept."""
    name, un_cache, cache = cache_manager._get_file_name, cache_manager.un_cache, cache_manager.cache
    mine = lambda namespace: namespace.get_full_name().split("::")[0] == "std"

    def file_name(namespace, filename):
        before, cache_manager.root_cache_dir = cache_manager.root_cache_dir, cached
        try: return name(namespace, filename)
        finally: cache_manager.root_cache_dir = before

    cache_manager._get_file_name = file_name
    cache_manager.un_cache = lambda n, f: un_cache(n, f) if mine(n) else None
    cache_manager.cache = lambda n, f, s: cache(n, f, s) if mine(n) else None


def remember_sources():
    """Keeps the lines of plugins: they are looked up for each of them in each compilation."""
    kept, ask = {}, inspect.getsourcelines

    def lines(of):
        if of not in kept: kept[of] = ask(of)
        return kept[of]

    inspect.getsourcelines = lines


def compile_case(case):
    """Compiles a case with the files of its modules."""
    if not case.get("files"): return oracle.compile_case(case, None)
    libs = tempfile.mkdtemp(prefix="libs-")
    for path, text in case["files"].items():
        os.makedirs(os.path.dirname(os.path.join(libs, path)), exist_ok=True)
        with open(os.path.join(libs, path), "w", encoding="utf-8") as f: f.write(text)
    r = oracle.compile_case(case, libs)
    return r | {k: r[k].replace(libs, "{libs}") for k in ("message", "trace") if k in r}


def plain(v):
    """Numbers that JSON has not are texts."""
    if isinstance(v, float) and (v != v or v in (float("inf"), float("-inf"))): return str(v)
    if isinstance(v, dict): return {k: plain(x) for k, x in v.items()}
    return [plain(x) for x in v] if isinstance(v, list) else v


def some(cases):
    """Results of cases in a process of their own; fewer than cases if one of them ended the process."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        with os.fdopen(w, "w") as f:
            for case in cases:
                signal.alarm(SECONDS)
                try: data = json.dumps(plain(compile_case(case)), default=str)
                except BaseException as e: data = json.dumps({"id": case.get("id"), "outcome": "harness", "why": repr(e)[:300]})
                print(data, file=f, flush=True)
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as f: lines = f.read().split("\n")[:-1]
    os.waitpid(pid, 0)
    return lines


def run(cases):
    lines = some(cases)
    while len(lines) < len(cases):  # the next one takes all of its process, or is alone in it
        alone = some(cases[len(lines):len(lines) + 1])
        lines += alone or [json.dumps({"id": cases[len(lines)].get("id"), "outcome": "harness", "why": "time"})]
        lines += some(cases[len(lines):])
    return lines


def main():
    tempfile.tempdir = places
    share_std()
    remember_sources()
    for _ in range(2):
        oracle.compile_case({"id": "", "model": "std::print(1)"}, None)
    os.chdir("/")
    gc.collect()
    gc.freeze()
    cases = [json.loads(line) for line in sys.stdin]
    try:
        for at in range(0, len(cases), BATCH):
            here = tempfile.tempdir = tempfile.mkdtemp(dir=places)
            print("\n".join(run(cases[at:at + BATCH])), flush=True)
            shutil.rmtree(here, ignore_errors=True)
    finally:
        shutil.rmtree(places, ignore_errors=True)


if __name__ == "__main__":
    main()
