"""Handlers: resources of agents, with the code of one version."""
import asyncio, base64, json, logging, sys, threading, uuid

import inmanta.agent.handler as library
from inmanta import const
from inmanta.agent.cache import AgentCache
from inmanta.protocol import Result, endpoints, json_encode
from inmanta.references import MutatorMissingError, ReferenceMissingError
from inmanta.resources import Resource, resource as classes

from southbound_host import code, traces, wire

_failed = []  # modules that cannot be imported, and why
_agents = {}
_loop = asyncio.new_event_loop()
_id = uuid.uuid5(uuid.NAMESPACE_OID, "southbound")

def start():
    """Starts what asynchronous code of the library runs in, once."""
    if not _loop.is_running():
        threading.Thread(target=_loop.run_forever, daemon=True).start()

def load(modules):
    """Imports the code of a version."""
    code.serve(modules)
    endpoints.SyncClient = Facts
    start()
    for name in sorted(modules):
        try:
            __import__(name)
        except BaseException as e:
            _failed.append([name, traces.said(e), traces.frames(e)])

class Agent:
    """Stands where the library has what runs handlers of an agent."""

    def __init__(self, name):
        self.name, self.uri, self.eventloop = name, "local:", _loop
        self.environment = self._env_id = self.sessionid = _id
        self.cache = AgentCache(self)

    def is_stopped(self):
        return False

class Context(library.HandlerContext):
    """The context of one run. What it says is sent at once."""

    def __init__(self, resource, dry):
        super().__init__(resource, dry, logger=_log)
        self.error_seen = None  # the exception for which the run has failed
        self.secrets = set()  # what its references stand for
        self.why = ""  # what was said last of why it was skipped, or has failed

    def _log_msg(self, level, msg, *args, exc_info=False, **kwargs):
        if args:
            raise Exception("Args not supported")
        e = sys.exc_info()[1]
        if isinstance(exc_info, BaseException):
            e = exc_info
        if exc_info and e is not None:
            if self.error_seen is None and self._status is const.ResourceState.failed:
                self.error_seen = e
            kwargs.pop("traceback", None)
            kwargs["places"] = [f"{file}:{line} in {name}" for file, line, name, _ in traces.frames(e)]
        text = msg % kwargs
        if self._status is const.ResourceState.skipped and isinstance(kwargs.get("reason"), tuple):
            self.why = ", ".join(map(str, kwargs["reason"]))
        elif level >= logging.ERROR:
            self.why = text
        if msg.startswith(_told):
            return  # what came of the run says it
        kwargs.pop("resource_id", None)
        wire.send(["log", level, text, _json({k: _plain(v) for k, v in kwargs.items()})])

# What the library logs of each run.
_told = ("Calling read_resource", "Calling create_resource", "Calling delete_resource", "Calling update_resource",
         "An error occurred during deployment of %(resource_id)s", "Resource %(resource_id)s was skipped: ")
_log = logging.getLogger("southbound")

def _plain(v):
    try:
        return json.loads(json_encode(v), parse_constant=_no_number)
    except Exception:
        return str(v)

def _no_number(text):
    """Returns what Python writes for what JSON has no number for: NaN, Infinity, -Infinity."""
    return repr(float(text))

def _json(v):
    return wire.halves(json.dumps(v, separators=(",", ":")))

class Client:
    """Stands where the library has its client of the server."""

    def __init__(self, ctx, what):
        self.ctx, self.reload, self.new, self.files = ctx, what["reload"], what["new"], what["files"]

    def __getattr__(self, name):
        async def unknown(*args, **kwargs):
            return Result(code=501, result={"message": f"{name} is not there: handlers reach no server here"})
        return unknown

    async def resource_did_dependency_change(self, *args, **kwargs):
        made = self.new and (self.ctx.changed or bool(self.ctx.changes))  # it has missed no change
        return Result(code=200, result={"data": self.reload and not made})

    async def get_file(self, id):
        if id not in self.files:
            return Result(code=404, result={"message": f"there is no file {id}"})
        content = wire.ask(["file", id])
        if content[0] != "v":
            return Result(code=500, result={"message": content[1]})
        return Result(code=200, result={"content": content[1]})

    async def stat_file(self, id):
        return Result(code=200 if id in self.files else 404, result={})

    async def upload_file(self, *args, **kwargs):
        raise Exception("handlers reach no server here")  # the library looks at no code of this answer

    async def discovered_resource_create_batch(self, tid, discovered_resources):
        for found in discovered_resources:
            name, values = str(found.discovered_resource_id), _plain(found.values)
            self.ctx.info("discovered %(discovered)s", discovered=name, values=values)
            self.ctx.set_fact(name, json.dumps(values, separators=(",", ":"), sort_keys=True), expires=False)
        return Result(code=200, result={})

class Facts:
    """Stands where references find the library's client of the server: it knows the facts that the run needs."""
    known = {}  # of the run: facts by resource

    def __init__(self, *args, **kwargs):
        pass

    def get_facts(self, tid, rid):
        rid = str(rid).split(",v=")[0]
        data = [{"name": n, "value": v, "resource_id": rid} for n, v in self.known.get(rid, {}).items()]
        return Result(code=200, result={"data": data})

    def __getattr__(self, name):
        return lambda *args, **kwargs: Result(
            code=501, result={"message": f"{name} is not there: handlers reach no server here"})

class Unavailable(Exception):
    """There is nothing to run a resource with."""

def _handler(agent, res):
    """Returns the handler of a resource."""
    kind = res.id.get_entity_type()
    if kind not in library.Commander.get_handlers():
        raise Unavailable(f"the code of its version has no handler for {kind}")
    handler = library.Commander.get_provider(agent, res)
    handler.set_cache(agent.cache)
    available = getattr(handler, "available", None)  # of modules that were written for earlier libraries
    if callable(available) and not available(res):
        handler.close()
        raise Unavailable(f"its handler {type(handler).__name__} is not available for it")
    return handler

def _resource(fields):
    """Makes the resource of a run."""
    try:
        kind = fields["id"].split("[")[0]
        cls, _ = classes.get_class(kind)
        if cls is None:
            raise Unavailable(f"the code of its version has no class for {kind}")
        return Resource.deserialize({**{f: None for f in cls.fields}, **fields})
    except Unavailable:
        raise
    except Exception as e:
        raise Unavailable(f"it does not fit the class of its version: {traces.said(e)}") from e

def run(text):
    """Runs a resource."""
    what = json.loads(text)
    ctx, end = None, {}
    Facts.known = what["known"]
    try:
        agent = _agents.get(what["agent"])
        if agent is None:
            agent = _agents[what["agent"]] = Agent(what["agent"])
        res = _resource(what["resource"])
        ctx = Context(res, what["dry"])
        handler = _handler(agent, res)
        handler._client = Client(ctx, what)
        try:
            with agent.cache:
                _resolve(ctx, res)
                if what["facts"]:
                    end = {"facts": handler.check_facts(ctx, res)}
                else:
                    end = _deploy(ctx, handler, res, what)
                    if not what["dry"]:
                        end["facts"] = _facts(ctx, handler, res)
        finally:
            handler.close()
        error = ctx.error_seen
    except library.SkipResource as e:
        error, end["state"] = e, "skipped"
    except (ReferenceMissingError, MutatorMissingError, Unavailable) as e:
        error, end["state"] = e, "unavailable"
    except BaseException as e:
        error, end["state"] = e, "failed"
    if ctx is not None:
        _earlier(ctx)
    wire.send(["done", _json(_ended(ctx, end, error))])

def _resolve(ctx, res):
    """Resolves references. What they stand for is kept out of what is told, also of why others fail."""
    try:
        res.resolve_all_references(ctx)
    finally:
        for ref in res._references.values():
            if getattr(ref, "_reference_value_cached", False):
                for text in _texts(ref._reference_value):
                    ctx.secrets.add(text)
                    wire.send(["secret", text])

def _earlier(ctx):
    """Tells that what stands where a secret is wanted is one too: it may be what the secret was before."""
    for c in ctx.changes.values():
        if any(s and s in text for s in ctx.secrets for text in _texts(_plain(c.desired))):
            for text in _texts(_plain(c.current)):
                wire.send(["secret", text])

def _texts(v):
    if isinstance(v, str):
        yield v
    elif isinstance(v, dict):
        for x in v.values():
            yield from _texts(x)
    elif isinstance(v, (list, tuple)):
        for x in v:
            yield from _texts(x)
    elif hasattr(v, "__dataclass_fields__"):
        for name in v.__dataclass_fields__:
            yield from _texts(getattr(v, name))

def _deploy(ctx, handler, res, what):
    if what["dry"]:
        handler.execute(ctx, res, True)
        return {}
    reloads = []
    reload = handler.do_reload
    handler.do_reload = lambda *args, **kwargs: (reloads.append(1), reload(*args, **kwargs))[1]
    requires = {r: const.ResourceState.deployed for r in what["resource"]["requires"]}
    handler.deploy(ctx, res, requires)
    if ctx.changed or not ctx.changes or ctx.status is not None and ctx.status is not const.ResourceState.deployed:
        return {"reloaded": bool(reloads)}
    # The handler has not said what it did: that shows in what differs afterwards.
    after = Context(res, True)
    after._log_msg = lambda *args, **kwargs: None
    handler.execute(after, res, True)
    same = {n: _plain(c) for n, c in after.changes.items()} == {n: _plain(c) for n, c in ctx.changes.items()}
    return {"reloaded": bool(reloads), "idle": same and after.status is not const.ResourceState.failed}

def _facts(ctx, handler, res):
    """Returns the facts that a handler has besides those it sets. The library asks for them when its server wants to."""
    own = getattr(type(handler), "facts", None) is not library.HandlerAPI.facts
    well = ctx.error_seen is None and ctx.status in (None, const.ResourceState.deployed)
    if not own or not well or getattr(res, "purged", False):
        return {}
    try:
        return handler.check_facts(ctx, res)
    except Exception as e:
        ctx.warning("its facts cannot be read: %(why)s", why=traces.said(e))
        return {}

def _fit(ctx, name, value):
    """Reports whether a fact can be kept."""
    try:
        (name + value).encode()
    except UnicodeEncodeError:
        ctx.warning("the fact %(fact)s is not kept: half of a pair of surrogates, which no text can hold, is in %(value)s",
                    fact=name, value=ascii(value)[:200])
        return False
    return True

def _ended(ctx, end, error):
    """Returns what came of a run, as plain data."""
    out = {"state": "", "change": "nochange", "changes": {}, "facts": {}, "error": "", "places": [], "idle": False, **end}
    if ctx is not None:
        out["state"] = out["state"] or (ctx.resource_state.value if ctx.resource_state else "")
        out["change"], out["error"] = ctx.change.value, ctx.why
        for name, c in ctx.changes.items():
            out["changes"][str(name)] = [_plain(c.current), _plain(c.desired)]
        for fact in ctx.facts:
            out["facts"][str(fact["id"])] = fact["value"]
    facts = {str(k): v if isinstance(v, str) else str(v) for k, v in out["facts"].items()}
    out["facts"] = {k: v for k, v in facts.items() if _fit(ctx, k, v)}
    if isinstance(error, library.SkipResource):
        out["error"] = ", ".join(map(str, error.args))
    elif isinstance(error, Unavailable):
        out["error"] = str(error)
    elif error is not None:
        out["error"], out["places"] = traces.said(error), traces.frames(error)
    if out["state"] == "unavailable" and _failed:
        out["failed"] = _failed
    return out

def finish():
    """Lets go of what is in the caches."""
    for agent in _agents.values():
        try:
            agent.cache.close()
        except Exception:
            pass
