"""Plugins: what they are called with, and their calls."""
import collections.abc, contextlib, dataclasses, importlib, inspect, numbers, os, sys, traceback, typing, types
import warnings

import inmanta.ast
from inmanta import const, loader
from inmanta.ast import MultiUnsetException, UnknownException, UnsetException
from inmanta.execute.proxy import DynamicProxy, DynamicUnwrapContext, ProxyContext
from inmanta.execute.util import NoneValue, Unknown
import inmanta.plugins
from inmanta.plugins import ModelType, PluginArgument, PluginMeta
from inmanta.references import Reference

from southbound_host import model, provided, wire
from southbound_host.traces import frames, said

is_dataclass = dataclasses.is_dataclass
_plugins = []
_OMITTED = object()
wire.decoder("x", lambda _: _OMITTED)

class Signature(Exception):
    """A signature that no call can have."""

def entity_of(cls):
    """Returns the name of the entity that a dataclass stands for."""
    prefix = const.PLUGINS_PACKAGE + "."
    if not cls.__module__.startswith(prefix):
        raise Signature(f"the dataclass {cls.__qualname__} is not in a module of models")
    return cls.__module__[len(prefix):].replace(".", "::") + "::" + cls.__name__

_names = {
    str: "string", int: "int", float: "float", bool: "bool", numbers.Number: "number",
    dict: "dict", collections.abc.Mapping: "dict", list: "list", collections.abc.Sequence: "list",
    object: "any", typing.Any: "any", None: "null", type(None): "null", Reference: "reference",
    inspect.Parameter.empty: "any",
}

def text_of(t):
    """Returns the type of a model that an annotation stands for, as models write it."""
    if isinstance(t, str):
        return "any" if t == "expression" else t
    if isinstance(t, typing.TypeAliasType):
        return text_of(t.__value__)
    if isinstance(t, collections.abc.Hashable) and t in _names:
        return _names[t]
    origin, args = typing.get_origin(t), typing.get_args(t)
    if origin is typing.Union or origin is types.UnionType:
        return _union([text_of(a) for a in args])
    if origin is typing.Annotated:
        for meta in reversed(t.__metadata__):
            if isinstance(meta, ModelType):
                return text_of(meta.model_type)
        return text_of(args[0])
    if is_dataclass(t):
        return entity_of(t)
    base = origin or t
    if isinstance(base, type):
        if issubclass(base, Reference):
            return "reference"
        if base in (list, collections.abc.Sequence):
            of = text_of(args[0])
            return "list" if "|" in of else of + "[]"
        if base in (dict, collections.abc.Mapping):
            return "dict"
        if issubclass(base, (collections.abc.Set, collections.abc.Sequence, collections.abc.Mapping)):
            raise Signature(f"{t} is not a type that plugins can have: use Sequence or Mapping")
        return "any"
    raise Signature(f"{t!r} is neither a type nor a text that names one")

def _union(names):
    null = "null" in names
    names = [n for n in dict.fromkeys(names) if n != "null"]
    if not names:
        return "null"
    if len(names) == 1:
        return names[0] + ("?" if null and not names[0].endswith("?") else "")
    return " | ".join(names + (["null"] if null else []))

_paired = {}  # dataclasses by the names of their entities

def dataclass_of(name):
    """Returns the dataclass of an entity."""
    return _paired[name]

def names_dataclass(t):
    """Reports whether an annotation says that a plugin takes dataclasses, and not proxies."""
    if isinstance(t, str):
        return any(part.strip().rstrip("?[]") in _paired for part in t.split("|"))
    if isinstance(t, typing.TypeAliasType):
        return names_dataclass(t.__value__)
    if typing.get_origin(t) is typing.Annotated:
        if t.__origin__ is DynamicProxy:
            return False
        models = [m.model_type for m in t.__metadata__ if isinstance(m, ModelType)]
        return names_dataclass(models[-1] if models else t.__origin__)
    return is_dataclass(t) or any(names_dataclass(a) for a in typing.get_args(t))

def converted(v, path):
    """Returns a value with dataclasses in place of their instances."""
    if isinstance(v, list):
        return [converted(x, f"{path}[{i}]") for i, x in enumerate(v)]
    if isinstance(v, dict):
        return {k: converted(x, f"{path}[{k!r}]") for k, x in v.items()}
    if not isinstance(v, model.Instance) or v.of not in _paired:
        return DynamicProxy.return_value(v, context=ProxyContext(path=path, validated=True))
    if v.dataclass_self is None:
        cls = _paired[v.of]
        v.dataclass_self = cls(**{f.name: _plain(v, f.name, v.read(f.name)) for f in dataclasses.fields(cls)})
    return v.dataclass_self

def _plain(instance, field, v):
    """Returns what a field of a dataclass holds, without objects of the model."""
    if isinstance(v, Unknown):
        raise inmanta.ast.TypingException(None, f"the field {field} of {instance.of} holds an unknown value, which a dataclass "
            f"cannot: with Annotated[DynamicProxy, ModelType[\"{instance.of}\"]] as its type, the argument is a proxy instead")
    if isinstance(v, NoneValue):
        return None
    if isinstance(v, list):
        return [_plain(instance, field, x) for x in v]
    if isinstance(v, dict):
        return {k: _plain(instance, field, x) for k, x in v.items()}
    return v

class Called:
    """A plugin, as it is called."""

    def __init__(self, cls):
        self.cls, self.function, self.name = cls, cls.__function__, cls.__fq_plugin_name__
        self.unknowns = bool(cls.opts["allow_unknown"])
        self.plugin, self.converts = None, {}
        spec = inspect.getfullargspec(self.function)
        self.arguments, self.context = [], -1
        first = len(spec.args) - len(spec.defaults or ())
        for i, name in enumerate(spec.args):
            if self._type(spec, name) == inmanta.plugins.Context:
                self.context = i
                continue
            self.arguments.append((name, spec.defaults[i - first] if i >= first else _OMITTED))
        self.positional = len(self.arguments)
        for name in spec.kwonlyargs:
            self.arguments.append((name, (spec.kwonlydefaults or {}).get(name, _OMITTED)))
        self.spec = spec

    def _type(self, spec, name):
        if name not in spec.annotations:
            raise Signature(f"its argument {name} has no annotation")
        return spec.annotations[name]

    def signature(self):
        """Returns what is told of the plugin."""
        params = []
        for i, (name, default) in enumerate(self.arguments):
            known, value = default is not _OMITTED, None
            if known:
                try:
                    value = wire.encode(DynamicProxy.unwrap(default))
                except Exception:
                    value = {"x": 0}
            params.append([name, text_of(self.spec.annotations[name]), known, value, i >= self.positional])
        rest = named = None
        if self.spec.varargs:
            rest = [self.spec.varargs, text_of(self._type(self.spec, self.spec.varargs))]
        if self.spec.varkw:
            named = [self.spec.varkw, text_of(self._type(self.spec, self.spec.varkw))]
        code = inspect.unwrap(self.function).__code__
        return [self.name, inspect.getdoc(self.function) or "", params, rest, named,
                text_of(self.spec.annotations.get("return", "any")), self.unknowns,
                bool(self.cls.deprecated), self.cls.replaced_by or "", code.co_filename,
                code.co_firstlineno]

    def instance(self):
        """Returns the plugin as it is an object of the compiler."""
        if self.plugin is None:
            self.plugin = self.cls(model.namespace(self.name.rsplit("::", 1)[0]))
        return self.plugin

    def call(self, args, kwargs, space, file, line):
        args = [self._argument(i, v) for i, v in enumerate(args)]
        while args and args[-1] is _OMITTED:
            args.pop()
        if self.context >= 0:
            args.insert(self.context, model.Context(self.instance(), space, file, line))
        named = {k: self._argument(k, v) for k, v in kwargs.items()}
        return self.function(*args, **{k: v for k, v in named.items() if v is not _OMITTED})

    def _argument(self, key, v):
        v = wire.decode(v)
        t = type(v)
        if t is str or t is int or v is None or t is bool or t is float or v is _OMITTED:
            return v
        if isinstance(v, Unknown) and self.unknowns:
            return v
        if isinstance(key, int):
            key = self.arguments[key][0] if key < self.positional else self.spec.varargs
        name = key if key in self.spec.annotations else self.spec.varkw
        if name not in self.converts:
            self.converts[name] = names_dataclass(self.spec.annotations.get(name))
        if self.converts[name]:
            return converted(v, key)
        return DynamicProxy.return_value(v, context=ProxyContext(path=key, validated=True))

failure = None  # what a plugin has raised last
_only = False  # plugins count of modules of the model alone: others were imported for models before

def reset():
    """Forgets the plugins of a model, before another one of the same process."""
    global _only, failure
    _only, failure = True, None
    _plugins.clear()
    model.compiler._plugins = None

def load(path, modules, paths, others):
    """Imports modules, and returns what went wrong and the signatures of their plugins. The others have no code."""
    warnings.simplefilter("ignore")
    model.project(path, dict(others + modules))
    provided.provide(dict(modules))
    if paths:
        loader.PluginModuleFinder.configure_module_finder(paths)
    failed = []
    for name, at in modules:
        if at and not _load(name, at, failed):
            break
    told = []
    for name, cls in sorted(PluginMeta.get_functions().items()):
        if _only and name.split("::")[0] not in {"lsm", *dict(modules)}:
            continue
        try:
            called = Called(cls)
            told.append(called.signature())
            _plugins.append(called)
        except Exception as e:
            failed.append([name.split("::")[0], f"the plugin {name} cannot be called: {e}",
                           [[cls.__function__.__code__.co_filename, cls.__function__.__code__.co_firstlineno, name, ""]]])
    return [failed, told, _pair()]

class Paired:
    """Stands for the entity of a dataclass, which is not known before it is asked for."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        return getattr(model.entity(self.name), attribute)

def _pair():
    """Pairs dataclasses with the entities of their names, and returns these names, each with its fields."""
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(const.PLUGINS_PACKAGE + "."):
            continue
        for cls in vars(module).values():
            if isinstance(cls, type) and is_dataclass(cls) and cls.__module__ == name:
                cls._paired_inmanta_entity = Paired(entity_of(cls))
                if cls.__dataclass_params__.frozen:
                    _paired[entity_of(cls)] = cls
    return [[name, *(f.name for f in dataclasses.fields(cls))] for name, cls in _paired.items()]

def _load(name, at, failed):
    """Imports a module with all that it holds."""
    package = f"{const.PLUGINS_PACKAGE}.{name}"
    try:
        found = importlib.import_module(package)
        roots = list(getattr(found, "__path__", []))
        for root in roots:
            for folder, inside, files in os.walk(root):
                inside[:] = sorted(d for d in inside if d.isidentifier() and _python(os.path.join(folder, d)))
                rel = os.path.relpath(folder, root)
                prefix = package if rel == "." else package + "." + rel.replace(os.sep, ".")
                for f in sorted(files):
                    if f.endswith(".py") and f != "__init__.py" and f[:-3].isidentifier():
                        importlib.import_module(prefix + "." + f[:-3])
                    elif f == "__init__.py" and rel != ".":
                        importlib.import_module(prefix)
    except BaseException as e:
        lacks = e.name if isinstance(e, ModuleNotFoundError) and e.name else ""
        failed.append([name, said(e), frames(e), lacks])
        return isinstance(e, Exception)
    return True

def _python(folder):
    return os.path.exists(os.path.join(folder, "__init__.py"))

_context = DynamicUnwrapContext(model.Resolver(model.root), model.queue, model._place, model.type_of)

def call(message):
    """Answers a call."""
    _, number, args, kwargs, space, file, line = message
    called = _plugins[number]
    try:
        value = called.call(args, kwargs, space, file, line)
        t = type(value)
        if not (t is str and value.isascii() or t is int or value is None or t is bool):
            value = wire.encode(_unwrapped(value))
        wire.send(["ok", value])
    except (UnsetException, MultiUnsetException) as e:
        wire.send(["unset", model.unset(e)])
    except UnknownException:
        wire.send(["unknown"])
    except wire.Unfit as e:
        wire.send(["failed", f"it returns {e}", []])
    except wire.TooLarge as e:
        wire.send(["failed", f"it returns {e.args[0]} bytes, and a model takes at most {wire.LIMIT}", []])
    except BaseException as e:
        global failure
        failure = e
        e.__traceback__ = e.__traceback__.tb_next if e.__traceback__ else None
        wire.send(["failed", said(e), frames(e)])

def _unwrapped(value):
    """Returns what a plugin has returned with instances in place of their proxies."""
    try:
        return DynamicProxy.unwrap(value, dynamic_context=_context)
    except RecursionError:
        raise wire.too_deep(value) from None

def finish():
    """Runs the finalizers of modules."""
    compiler = sys.modules.get("inmanta.compiler")  # whoever has a finalizer has imported it
    failed = []  # what they raise: the library keeps no more of that than the text
    try:
        if compiler is not None:
            with _watched(compiler.Finalizers, "_Finalizers__finalizers", failed):
                compiler.Finalizers.call_finalizers()
    except BaseException as e:
        failed = failed or [e]
        wire.send(["failed", "; ".join(map(said, failed)), frames(failed[0])])
        return
    wire.send(["ok", None])

@contextlib.contextmanager
def _watched(of, name, failed):
    """Notes what the finalizers that the library holds under a name raise meanwhile."""
    def watched(finalizer):
        def run():
            try:
                finalizer()
            except BaseException as e:
                failed.append(e)
                raise
        return run

    held = getattr(of, name, None)
    if held is None:
        yield
        return
    setattr(of, name, [watched(f) for f in held])
    try:
        yield
    finally:
        setattr(of, name, held)
