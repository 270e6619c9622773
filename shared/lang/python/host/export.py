"""Resource classes: from instances to resources, by the exporter of the library."""
import base64, functools, json

import inmanta.agent.handler as library
import inmanta.ast
from inmanta import protocol
from inmanta.execute.proxy import DynamicProxy
from inmanta.execute.util import Unknown
from inmanta.export import Exporter
from inmanta.references import MutatorMissingError, ReferenceMissingError, mutator, reference
from inmanta.resources import Resource

from southbound_host import code, model, plugins, wire

last = None  # the exporter of the last model

class Whole(Exporter):
    """The exporter of the library, which sends nothing itself."""

    def resources_to_list(self):
        return []

class Held(Unknown):
    """The value of an attribute that is put together where the resource is deployed. A field passes it on as it is."""

    def __init__(self, number, name):
        super().__init__(None)
        self.sent = {"h": [number, name]}

def _taken(cls, name):
    """Reports whether a class takes a field from the attribute of that name as it is."""
    own = hasattr(cls, "get_" + name) or name in getattr(cls, "map", ())
    return not own and cls.serialize is Resource.serialize and (
        getattr(cls.map_field, "__func__", None) is Resource.map_field.__func__)

def _holding(map_field):
    """Returns the function of the library that gives fields their values, for fields with values that are put together
    where the resource is deployed."""
    @functools.wraps(map_field)
    def holding(cls, exporter, entity_name, field_name, model_object, *args, **kwargs):
        of = model_object._get_instance() if isinstance(model_object, DynamicProxy) else model_object
        if exporter is not None and isinstance(of, model.Instance) and _taken(cls, field_name):  # ids have no exporter
            if of.puts_together(field_name):
                return Held(of.number, field_name)
        return map_field(cls, exporter, entity_name, field_name, model_object, *args, **kwargs)
    return classmethod(holding)

Resource.map_field = _holding(Resource.map_field.__func__)

def run():
    """Sends the files and the resources that the model has come to."""
    global last
    model.whole = True
    exporter = last = Whole()
    try:
        exporter.run(model.types, model.root, no_commit=True)
        files = wire.Batch("files")
        for digest, content in exporter._file_store.items():
            files.add([digest, base64.b64encode(content).decode()])
        files.send()
        parts, sent = code.Parts() if exporter._resources else None, {}
        resources, known = wire.Batch("resources"), {}
        for res in exporter._resources.values():
            tops = _brought(res, known)
            if tops not in sent:
                sent[tops] = len(sent)
                modules = {"format": 1, "modules": parts.of(tops)}
                wire.send(["code", json.dumps(modules, separators=(",", ":"), sort_keys=True)])
            resources.add([*_resource(exporter, res), sent[tops]])
        resources.send()
        wire.send(["ok", None])
    except wire.TooLarge as e:
        wire.send(["failed", f"a resource has {e.args[0]} bytes; at most {wire.LIMIT} are taken", [], None])
    except BaseException as e:
        wire.send(["failed", _said(e), plugins.frames(e), _instance(e)])

def _brought(res, known):
    """Returns the modules that bring the class of a resource, its handler, and the classes of its references."""
    used = [(reference, r) for r in res.references or ()] + [(mutator, m) for m in res.mutators or ()]
    kinds = frozenset((kind, r["type"] if isinstance(r, dict) else r.type) for kind, r in used)
    key = type(res), res.id.entity_type, kinds
    if key not in known:
        known[key] = _modules(*key)
    return known[key]

def _modules(cls, name, kinds):
    classes = [cls, library.Commander.get_handlers().get(name)]
    for kind, of in kinds:
        try:
            classes.append(kind.get_class(of))
        except (ReferenceMissingError, MutatorMissingError):
            pass
    tops = {code.top(c.__module__) for cls in classes if cls is not None for c in cls.__mro__}
    return frozenset(tops - {""})

def _said(e):
    """Returns what an exception says with what led to it."""
    inner = getattr(e, "__cause__", None)
    if isinstance(e, inmanta.ast.ExternalException) and inner is not None:
        return f"{e.msg}: {plugins.said(inner)}"
    if isinstance(e, inmanta.ast.CompilerException):
        return e.get_message()
    return plugins.said(e)

def _instance(e):
    """Returns the number of the instance that was becoming a resource."""
    at = e.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_name == "_load_resources":
            found = at.tb_frame.f_locals.get("instance")
            return found.number if isinstance(found, model.Instance) else None
        at = at.tb_next
    return None

def _is_fact(res, name):
    """Tells whether a field is a fact as the instance has it. The library also has that fact in a field that a method of
    the class computes from it, and in one whose list has it; a class with a way of its own to get or send fields may
    have it anywhere."""
    value = getattr(res, name)
    if type(value) is not model.Fact or not _taken(type(res), name):
        return False
    instance = res.model._get_instance()
    return name in instance.held and instance.known(name) is value

def _other(res, name, value):
    """Returns a field as the library would store it."""
    try:
        return wire.encode(json.loads(protocol.common.json_encode(value)))
    except wire.Unfit as e:
        raise inmanta.ast.RuntimeException(None, f"{name} of {res.id.resource_str()} holds {e}") from e

def _resource(exporter, res):
    fields = {}
    plain = None if type(res).serialize is Resource.serialize else res.serialize()
    for name in res.fields:
        value = getattr(res, name) if plain is None else plain[name]
        if type(value) in (bool, int, type(None)):
            fields[name] = value
            continue
        if type(value) is Held:
            fields[name] = value.sent
            continue
        if isinstance(getattr(res, name), Unknown):
            fields[name] = wire.encode(getattr(res, name)) if _is_fact(res, name) else {"u": f"{name} of {res.id.resource_str()}"}
            continue
        try:
            fields[name] = wire.encode(value)
        except wire.Unfit:
            fields[name] = _other(res, name, value)
    text = res.id.resource_str()
    requires = sorted(r.resource_str() for r in res.requires)
    return [res.model._get_instance().number, res.id.entity_type, res.id.agent_name, res.id.attribute,
            res.id.attribute_value, text, {"d": fields}, requires, exporter._resource_sets.get(text)]
