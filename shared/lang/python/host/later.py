"""Parts of the library that only its server, its agents and its compiler need: they are run when something of
them is used.

To import all of the library takes several times as long as to import what models use. The rest is its database,
its API and its own compiler. A module that stands here is in its place at once, as ever, but its code is run when
an attribute is read or set for the first time, by whomever. So code finds the same, only later.
"""
import builtins, collections, contextlib, importlib, importlib.machinery, importlib.util, sys, threading, types, typing

# What nothing else relies on having been run: other modules of the library use it in functions only, but for the
# names below. Of what is not part of the library it holds for everybody.
_PARTS = {
    "inmanta.agent", "inmanta.ast.statements", "inmanta.ast.statements.generator", "inmanta.data",
    "inmanta.data.model", "inmanta.data.sqlalchemy", "inmanta.env", "inmanta.file_parser", "inmanta.module",
    "inmanta.parser.plyInmantaParser", "inmanta.protocol.auth.auth", "inmanta.protocol.endpoints",
    "inmanta.protocol.exceptions", "inmanta.protocol.methods", "inmanta.protocol.methods_v2",
    "inmanta.protocol.openapi.model", "inmanta.protocol.websocket",
    "argparse", "ast", "asyncio", "asyncio.sslproto", "asyncpg", "click", "concurrent.futures", "cProfile",
    "crontab", "cryptography.hazmat.backends", "cryptography.hazmat.primitives.asymmetric.rsa",
    "cryptography.hazmat.primitives.serialization", "docstring_parser", "email_validator", "gzip", "hmac",
    "importlib.metadata", "ipaddress", "jinja2", "jinja2.nodes", "jsonpath_ng", "jwt", "packaging._manylinux",
    "packaging._musllinux", "packaging.requirements", "packaging.utils", "profile", "pstats", "pydantic",
    "pydantic._internal._discriminated_union", "pydantic._internal._generate_schema",
    "pydantic._internal._known_annotated_metadata", "pydantic.main", "pydantic.plugin", "pydantic_core",
    "ruamel.yaml", "ruamel.yaml.comments", "secrets", "shutil", "socket", "ssl", "subprocess", "tempfile",
    "tornado.concurrent", "tornado.gen", "tornado.web", "traceback", "typing_inspect", "urllib.request", "yaml",
    "zipfile", "zoneinfo",
}
# Names that the code of a module reads when it is imported, but only mentions, such as in an annotation.
_MENTIONED = {
    "importlib.resources._common": {"tempfile": "TemporaryDirectory"},
    "inmanta.agent.handler": {
        "concurrent.futures": "Future",
        "inmanta.data": "LogLine",
        "inmanta.data.model": "AttributeStateChange BaseModel DiscoveredResourceInput",
        "inmanta.protocol": "Client",
    },
    "inmanta.ast.entity": {"inmanta.ast.statements.generator": "SubConstructor"},
    "inmanta.ast.export": {"pydantic": "BaseModel ConfigDict"},
    "inmanta.config": {"crontab": "CronTab"},
    "inmanta.data.model": {"asyncpg": "Record"},
    "inmanta.export": {"argparse": "Namespace", "inmanta.protocol": "SyncClient"},
    "inmanta.loader": {
        "inmanta.data.model": "AgentName ExecutorModuleSource InmantaModule InmantaModuleName ModuleFileMetadata "
                              "ModuleSource",
    },
    "inmanta.module": {
        "inmanta.file_parser": "PreservativeYamlParser RequirementsTxtParser",
        "inmanta.parser.plyInmantaParser": "cache_manager",
        "packaging.requirements": "Requirement",
        "ruamel.yaml.comments": "CommentedMap",
    },
    "inmanta.parser": {"inmanta.ast.export": "Error"},
    "inmanta.protocol": {
        "inmanta.protocol.auth.auth": "decode_token encode_token",
        "inmanta.protocol.endpoints": "Client SyncClient TypedClient",
        "inmanta.protocol.websocket": "Session SessionEndpoint SessionListener",
    },
    "inmanta.protocol.auth.auth": {
        "cryptography.hazmat.backends": "default_backend",
        "cryptography.hazmat.primitives.asymmetric.rsa": "RSAPublicNumbers",
    },
    "inmanta.protocol.common": {
        "asyncio": "AbstractEventLoop",
        "inmanta.types": "BaseModel DateTimeNormalizerModel",
        "pydantic": "AnyUrl BaseModel SecretStr TypeAdapter ValidationError",
        "pydantic.main": "create_model",
        "inmanta.protocol.auth.auth": "claim_type",
        "inmanta.protocol.exceptions": "BaseHttpException",
        "inmanta.protocol.openapi.model": "ParameterType",
    },
    "inmanta.references": {"pydantic": "BaseModel Field PrivateAttr StringConstraints ValidationError"},
    "inmanta.types": {"pydantic": "BaseModel StrictBool field_validator"},
    "inmanta_plugins": {"inmanta.module": "Project"},
    "inmanta_plugins.std": {"jinja2": "Environment FileSystemLoader PrefixLoader Template"},
    "jinja2.runtime": {"jinja2.nodes": "EvalContext"},
    "pydantic._internal._dataclasses": {"pydantic._internal._generate_schema": "GenerateSchema InvalidSchemaError"},
    "pydantic._internal._model_construction": {"pydantic._internal._generate_schema": "GenerateSchema InvalidSchemaError"},
    "pydantic._internal._validators": {"zoneinfo": "ZoneInfo ZoneInfoNotFoundError"},
    "inmanta.util": {
        "asyncio": "AbstractEventLoop CancelledError Event Future Lock Task ensure_future gather", "asyncpg": "pool",
        "click": "Group", "concurrent.futures": "ThreadPoolExecutor", "crontab": "CronTab",
        "importlib.metadata": "EntryPoint", "packaging.requirements": "Requirement", "packaging.utils": "NormalizedName",
    },
}
# What modules that register the methods of the server's API stand for: it is whole when it is looked at.
_METHODS = ("inmanta.protocol.methods", "inmanta.protocol.methods_v2")
_IMPORTED = {"__class__", "__spec__", "__loader__", "__name__", "__package__", "__path__", "__file__", "__cached__"}
# Modules whose classes of data are made when pydantic is run, and with them all else that they make of it.
_DECLARING = "inmanta.types", "inmanta.protocol.common", "inmanta.references", "inmanta.ast.export"
_IN_FUNCTION = 1  # of the flags of code
# What typing asks each part of an annotation for, to know whether it is a variable or has some.
_ASKED = {"__parameters__", "__typing_is_unpacked_typevartuple__", "__typing_subst__", "__typing_unpacked_tuple_args__"}

_lock = threading.RLock()

class Module(types.ModuleType):
    """A module whose code is run later."""

    def __getattribute__(self, name):
        plain = super().__getattribute__
        if name in _IMPORTED:
            return plain(name)
        with _lock:
            loader = plain("__loader__")
            if isinstance(loader, Loader) and not loader.running:
                found = _inside(self, plain("__dict__"), name)
                if found is not None:
                    return found
                frame = _reader(sys._getframe(1))
                if _only_mentions(frame, self.__name__, name):
                    return Mentioned(self, name).given(frame)
                loader.run(self)
        return getattr(self, name) if type(self) is not Module else plain(name)

    def __setattr__(self, name, value):
        if name not in _IMPORTED and not _is_inside(self, name, value):
            self.__dict__  # runs it
        types.ModuleType.__setattr__(self, name, value)  # it may be a plain module now

    def __delattr__(self, name):
        self.__dict__  # runs it
        types.ModuleType.__delattr__(self, name)

def _is_inside(module, name, value):
    """Reports whether a value is the module of that name in a package."""
    return isinstance(value, types.ModuleType) and value.__name__ == module.__name__ + "." + name

def _is_known(package):
    """Reports whether the modules of a package are known not to need that itself was run first."""
    return package == "jinja2" or package.startswith(("inmanta.", "pydantic."))

def _inside(module, held, name):
    """Returns the module of a name in a package that is known well, for which the package needs not be run."""
    if "__path__" not in held or name.startswith("_") or not _is_known(module.__name__):
        return None
    whole = module.__name__ + "." + name
    if name in held:
        return held[name] if _is_inside(module, name, held[name]) else None
    return importlib.import_module(whole) if importlib.util.find_spec(whole) is not None else None

def _reader(frame):
    """Returns the frame of whoever reads an attribute, which the import system may do for it."""
    while frame.f_back is not None and frame.f_globals.get("__name__") == "importlib._bootstrap":
        frame = frame.f_back
    return frame

def _works(frame):
    """Reports whether code is that of a function, and not of a module, a class, or of annotations between brackets."""
    return frame.f_code.co_flags & _IN_FUNCTION and not frame.f_code.co_name.startswith("<generic parameters of ")

def _only_mentions(frame, module, name):
    """Reports whether code that is running now only mentions a name of a module."""
    if _works(frame) or _finder not in sys.meta_path:
        return False
    reader = frame.f_globals.get("__name__", "")
    readers = [reader, "inmanta_plugins"] if reader.startswith("inmanta_plugins.") else [reader]
    return any(name in _MENTIONED.get(r, {}).get(module, "").split() for r in readers)

class Mentioned:
    """Stands for something of a module until it is more than mentioned."""

    def __init__(self, of, name):
        self._of, self._as = of, name

    def given(self, frame):
        """Notes who has it, so that it is replaced as soon as there is what it stands for."""
        reader = sys.modules.get(frame.f_globals["__name__"])
        if reader is not None and vars(reader) is frame.f_globals:
            _readers.setdefault(self._of.__name__, set()).add(reader)
            if type(reader) is types.ModuleType:
                reader.__class__ = Reader
        return self

    def _found(self):
        of = self._of
        return getattr(of._found() if isinstance(of, Mentioned) else of, self._as)

    def __getattr__(self, name):
        frame = sys._getframe(1)
        if not _works(frame) and frame.f_globals.get("__name__") in _MENTIONED:
            return Mentioned(self, name)
        if name in _ASKED:
            raise AttributeError(name)
        return getattr(self._found(), name)

    def __call__(self, *args, **kwargs):
        frame = sys._getframe(1)
        if not _works(frame) and any(vars(m) is frame.f_globals for m in _declaring):
            return Called(self, args, kwargs)
        return self._found()(*args, **kwargs)

    def __getitem__(self, item):
        return self._found()[item] if _works(sys._getframe(1)) else Item(self, item)

    def __mro_entries__(self, bases):
        return (self._found(),)

    def __instancecheck__(self, value):
        return isinstance(value, self._found())

    def __subclasscheck__(self, value):
        return issubclass(value, self._found())

    def __or__(self, other):
        return self._found() | other if _works(sys._getframe(1)) else typing.Union[self, other]

    def __ror__(self, other):
        return other | self._found() if _works(sys._getframe(1)) else typing.Union[other, self]

class Item(Mentioned):
    """Stands for a generic type with its arguments until it is more than mentioned."""

    def _found(self):
        return self._of._found()[self._as]

class Called(Mentioned):
    """Stands for what a call of something that is only mentioned returns."""

    def __init__(self, of, args, kwargs):
        self._of, self._args, self._kwargs = of, args, kwargs

    def _found(self):
        return _made(self._of)(*_made(self._args), **{k: _made(v) for k, v in self._kwargs.items()})

class Declared(Mentioned):
    """Stands for a class until the classes that it extends are there."""

    def __init__(self, body, name, bases, kwargs):
        self._of, self._body, self._as, self._bases, self._kwargs = None, body, name, bases, kwargs
        self._class = None

    def _found(self):
        importlib.import_module("pydantic").__dict__  # runs it, and so makes all
        return self.make()

    def make(self):
        """Makes the class, in a frame as that of a module is, of which pydantic takes no names."""
        if self._class is None:
            names = {"build": builtins.__build_class__, "args": (self._body, self._as, *_made(self._bases)),
                     "kwargs": self._kwargs}
            exec("made = build(*args, **kwargs)", names)
            self._class = names["made"]
        return self._class

    def __instancecheck__(self, value):
        return self._class is not None and isinstance(value, self._class)  # of one that was not made there is none

    def __subclasscheck__(self, value):
        return self._class is not None and issubclass(value, self._class)

def _made(value):
    """Returns a value of a module that declares classes with what it stands for in place of what is only mentioned."""
    if isinstance(value, Declared):
        return value.make()
    if isinstance(value, Mentioned):
        return value._found() if isinstance(value, Called) or value._of.__name__ in _DATA else value
    if type(value) is tuple:
        return tuple(map(_made, value))
    if typing.get_origin(value) is typing.Annotated:
        return typing.Annotated[_made(value.__origin__), *map(_made, value.__metadata__)]
    if typing.get_origin(value) is typing.Union:
        return typing.Union[_made(value.__args__)]
    return value

_DATA = "pydantic", "pydantic.main"  # whose names are mentioned to declare classes of data
_declaring = []  # modules that wait for pydantic

def _declare():
    """Makes the classes that have waited for pydantic, and all else that was made of it."""
    with deferred():
        for module in _declaring:
            held = vars(module)
            for name, value in list(held.items()):
                made = _made(value)
                if made is not value and made != value:
                    held[name] = made
            _settle(module)
    _declaring.clear()

def _settle(module):
    """Has a module be a plain one as soon as it holds nothing that is only mentioned."""
    if type(module) is Reader and not any(isinstance(v, Mentioned) for v in vars(module).values()):
        module.__class__ = types.ModuleType

class Declaring:
    """Loads a module that declares classes of data, which are made when pydantic is run."""

    def __init__(self, real):
        self.real = real

    def __getattr__(self, name):
        return getattr(self.real, name)

    def create_module(self, spec):
        return self.real.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.real
        if type(importlib.import_module("pydantic")) is Module:
            _declaring.append(module)
            module.__builtins__ = {**vars(builtins), "__build_class__": _class}
        self.real.exec_module(module)

def _class(body, name, /, *bases, **kwargs):
    """Makes a class of a module, or what stands for it if it extends what is only mentioned."""
    if any(isinstance(b, Mentioned) for b in bases):
        return Declared(body, name, bases, kwargs)
    return builtins.__build_class__(body, name, *bases, **kwargs)

_readers = {}  # modules that hold what is mentioned of a module, by its name

class Reader(types.ModuleType):
    """A module that holds what is only mentioned: others that read it get what that stands for."""

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        if isinstance(value, Mentioned) and not _only_mentions(_reader(sys._getframe(1)), self.__name__, name):
            found = value._found()
            # By now it is there, unless it is part of something else, and this may be a plain module.
            value = types.ModuleType.__getattribute__(self, name)
            return found if isinstance(value, Mentioned) else value
        return value

def _replace(module):
    """Has what was mentioned of a module be what it stands for, where it was."""
    for reader in _readers.pop(module.__name__, ()):
        held = vars(reader)
        for name, value in list(held.items()):
            if isinstance(value, Mentioned) and value._of is module:
                held[name] = value._found()
        _settle(reader)

class Loader:
    """Leaves a module as it is, and runs it later."""

    def __init__(self, real):
        self.real, self.running = real, False

    def __getattr__(self, name):
        return getattr(self.real, name)

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass

    def run(self, module):
        package = sys.modules.get(module.__name__.rpartition(".")[0])
        if type(package) is Module and not _is_known(package.__name__):
            package.__dict__  # runs it first, which may run the module
            if type(module) is not Module:
                return
        self.running = True
        try:
            with deferred() if module.__name__.startswith("inmanta.") else contextlib.nullcontext():
                self.real.exec_module(module)
        except BaseException:
            self.running = False
            raise
        module.__spec__.loader = module.__loader__ = self.real
        module.__class__ = types.ModuleType
        if module.__name__ == "pydantic":
            _declare()
        _replace(module)
        if module.__name__ in _then:
            _then.pop(module.__name__)(module)

_then = {}  # what is done when a module was run, by its name

def then(name, do):
    """Has something be done with a module when it was run."""
    module = importlib.import_module(name)
    if type(module) is Module:
        _then[name] = do
    else:
        do(module)

class Finder:
    """Finds the modules that are run later, where all others would find them."""

    def find_spec(self, name, path=None, target=None):
        if name not in _PARTS and name not in _DECLARING:
            return _in_package(name) if "." in name else None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if isinstance(spec.loader, importlib.machinery.SourceFileLoader):
                    spec.loader = Loader(spec.loader) if name in _PARTS else Declaring(spec.loader)
                return spec
        return None

def _in_package(name):
    """Runs the package of a module that waits, as packages expect that. Returns how the module is had if that has it."""
    package = sys.modules.get(name.rpartition(".")[0])
    if type(package) is not Module or _is_known(package.__name__):
        return None
    package.__dict__  # runs it, unless that goes on
    found = sys.modules.get(name)
    return found and importlib.machinery.ModuleSpec(name, Again(found))

class Again:
    """Loads a module that is there."""

    def __init__(self, module):
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        module.__spec__ = self.spec

_finder = Finder()

def begin():
    """Has these parts run later from now on."""
    if importlib.util.find_spec("_ssl") is None:  # whoever imports ssl finds out, and goes on without it
        _PARTS.discard("ssl")
    sys.meta_path.insert(0, _finder)

def end():
    """Imports the library as a whole from now on, and anew. Reports whether that was not so before."""
    if _finder not in sys.meta_path:
        return False
    sys.meta_path.remove(_finder)
    _declaring.clear()
    for name in list(sys.modules):
        top, _, rest = name.partition(".")
        if top == "inmanta" or top == "southbound_host" and rest not in ("", "main", "wire", "later"):
            del sys.modules[name]
            vars(sys.modules.get(top, types)).pop(rest, None)
    return True

class Methods(collections.defaultdict):
    """The methods of the server's API, by name."""
    whole = False

    def _looked_at(name):
        known = getattr(collections.defaultdict, name)

        def look(self, *args):
            if not self.whole:
                self.whole = True
                for module in _METHODS:
                    importlib.import_module(module).__dict__  # runs it
            return known(self, *args)
        return look

    for _name in ("__contains__", "__getitem__", "__iter__", "__len__", "__eq__", "__repr__", "get", "items", "keys",
                  "values", "copy"):
        locals()[_name] = _looked_at(_name)

_deferring = 0  # how many want classes of data to be prepared later

@contextlib.contextmanager
def deferred():
    """Has pydantic prepare the classes of data that the library declares meanwhile when they are used first."""
    global _deferring
    _deferring += _finder in sys.meta_path
    _defer(_deferring > 0)
    try:
        yield
    finally:
        _deferring = max(_deferring - 1, 0)
        _defer(_deferring > 0)

def _defer(whether):
    """Says so to the classes that others extend. What modules of models declare is prepared at once, as ever."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or type(pydantic) is Module:
        return  # that is done when it was run
    held = vars(sys.modules.get("inmanta.types", types))
    for base in (pydantic.BaseModel, held.get("DateTimeNormalizerModel"), held.get("BaseModel")):
        if isinstance(base, type):
            config = {k: v for k, v in base.model_config.items() if k != "defer_build"}
            base.model_config = {**config, "defer_build": True} if whether else config

def library():
    """Imports what all parts of the host need first, and what most modules import: so it is known whether it can be."""
    _protocol()
    import inmanta.agent.handler, inmanta.export
    _config()

def _protocol():
    from inmanta.protocol import common  # before inmanta.data.model, which needs it, as inmanta.data has it
    if _finder not in sys.meta_path:
        return
    properties = getattr(common, "MethodProperties", None)
    held = getattr(properties, "methods", None)
    if type(held) is collections.defaultdict:
        properties.methods = Methods(held.default_factory, held)
    elif type(held) is not Methods:
        for module in _METHODS:
            importlib.import_module(module).__dict__  # runs it: who looks for them cannot be told

def _config():
    """Has the library reset what its server has kept of the options only if the server's part has been run."""
    import inmanta.config
    known = vars(inmanta.config.Config).get("_config_updated")
    if isinstance(known, classmethod):
        def updated(cls):
            if type(sys.modules.get("inmanta.protocol.auth.auth")) is not Module:
                known.__func__(cls)
        inmanta.config.Config._config_updated = classmethod(updated)
