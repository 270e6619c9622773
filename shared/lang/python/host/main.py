"""The loop of the host: one question after the other."""
import faulthandler, os, signal, sys

from southbound_host import wire

def serve(source):
    wire.open_pipes(source)
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started the host ends it
    import logging
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    while True:
        message = wire.receive()
        if message is None:
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

plugins = None

def _load(message):
    global plugins
    try:
        from southbound_host import plugins as loaded
        plugins = loaded
    except ModuleNotFoundError as e:
        wire.send(["missing", e.name or "", str(e)])
        return
    except Exception as e:
        wire.send(["missing", "", f"{type(e).__name__}: {e}"])
        return
    wire.send(["ok", *plugins.load(*message[1:])])
