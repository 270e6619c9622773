"""The loop of the host: one question after the other."""
import faulthandler, gc, importlib, json, os, signal, sys

from southbound_host import wire

def serve(source):
    wire.open_pipes(source)
    wire.send(["pid", os.getpid()])
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    faulthandler.enable(all_threads=False)  # a crash says where it was
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started the host ends it
    gc.disable()  # loaded modules stay: collecting while they are loaded takes a sixth of the time
    import logging
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    while True:
        message = wire.receive()
        if message is None:
            if handlers is not None:
                handlers.finish()
            os._exit(0)
        _answer(message)

def _answer(message):
    kind = message[0]
    if kind == "call":
        plugins.call(message)
    elif kind == "load":
        _load(message)
    elif kind == "finish":
        plugins.finish()
    elif kind == "export":
        from southbound_host import export
        export.run()
    elif kind == "code":
        _code(message)
    elif kind == "run":
        handlers.run(message[1])
    elif kind == "pytest":
        _pytest(message)

plugins = handlers = None

def _part(name):
    """Imports a part of the host that needs the library; None if that cannot be had."""
    try:
        return importlib.import_module("southbound_host." + name)
    except Exception as e:
        if isinstance(e, ModuleNotFoundError) and e.name in ("inmanta", "pytest"):
            return wire.send(["missing", e.name, str(e)])
        said = str(e) if isinstance(e, ModuleNotFoundError) else f"{type(e).__name__}: {e}"
        wire.send(["missing", "", f"{said} ({_installed()})"])

def _installed():
    """Says which library there is, and for which Python."""
    python = "Python " + ".".join(map(str, sys.version_info[:3]))
    try:
        from importlib import metadata
        return "inmanta-core " + metadata.version("inmanta-core") + ", " + python
    except Exception:
        return python

def _loaded():
    """Starts the garbage collector, which leaves out loaded modules and runs rarely, since a model keeps most objects."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()

def _load(message):
    global plugins
    plugins = _part("plugins")
    if plugins is not None:
        loaded = plugins.load(*message[1:])
        _loaded()
        wire.send(["ok", *loaded])

def _pytest(message):
    global plugins
    plugins = _part("plugins")
    kit = plugins and _part("kit")
    if kit:
        kit.run(message)

def _code(message):
    global handlers
    handlers = _part("handlers")
    if handlers is not None:
        handlers.load(json.loads(message[1])["modules"])
        _loaded()
        wire.send(["ok"])
