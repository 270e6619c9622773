"""Frames and values: what goes over the two pipes, which are not those of user code."""
import io, json, math, os, re, struct, sys, threading

LIMIT = 64 << 20  # bytes of a frame
PRINTED = 1 << 20  # characters of what is printed, in one frame
MAX_DEPTH = 200

_pid = os.getpid()
_lock = threading.RLock()
_loads, _plain = json.loads, json.JSONEncoder(check_circular=False, separators=(",", ":"))
_source = None
_printed, _size = [], 0  # what user code has printed and was not sent, and how much that is

def _encoder(of):
    """Returns what encodes plain data as an encoder does: that makes another one in C for each value."""
    make = getattr(json.encoder, "c_make_encoder", None)
    try:
        encode = make(None, of.default, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True)
        dumps = lambda value: "".join(encode(value, 0))
        if dumps(known := [None, 1, "\u00e9\n", {"a": [True]}, -2.5]) == of.encode(known):
            return dumps
    except TypeError:  # it is made otherwise there
        pass
    return of.encode

_dumps = _encoder(_plain)

_escape = re.compile(r"\\(?:u(?:d[89ab]..\\ud[c-f]..|(d[89a-f]..))|.)")

def halves(text):
    """Writes half of a pair of surrogates in JSON as Python writes it: no other program could read it."""
    return _escape.sub(lambda m: "\\\\u" + m[1] if m[1] else m[0], text) if "\\ud" in text else text

class TooLarge(Exception):
    pass

def open_pipes(source):
    """Keeps the pipes, and gives user code others in their place."""
    global _source
    _source = source
    os.set_inheritable(3, False)
    os.set_inheritable(4, False)
    os.dup2(2, 1)  # what programs and libraries write to standard output
    sys.stdout = Out()

class Out(io.TextIOBase):
    """Standard output of user code: it becomes output of the model, in order."""
    encoding = "utf-8"
    errors = "replace"

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        global _size
        with _lock:
            _printed.append(text)
            _size += len(text)
            if _size > 1 << 16:
                flush()
        return len(text)

    def writable(self):
        return True

    def fileno(self):
        return 2

    @property
    def buffer(self):
        return Bytes()

class Bytes(io.RawIOBase):
    def writable(self):
        return True

    def write(self, data):
        sys.stdout.write(bytes(data).decode("utf-8", "replace"))
        return len(data)

def flush():
    global _size
    if _printed:
        text = "".join(_printed)
        _printed.clear()
        _size = 0
        for at in range(0, len(text), PRINTED):
            _write(halves(_dumps(["print", text[at:at + PRINTED]])).encode())

def _write(data):
    if os.getpid() != _pid:
        os._exit(1)  # a child that user code forked; the pipe is its parent's
    data = struct.pack("<I", len(data)) + data
    while data:
        data = data[os.write(4, data):]

def send(message):
    """Sends a message of plain data."""
    data = halves(_dumps(message)).encode()
    if len(data) > LIMIT:
        raise TooLarge(len(data))
    with _lock:
        flush()
        _write(data)

class Batch:
    """Messages of one kind, which are sent together."""
    SIZE = 256 << 10  # bytes, about

    def __init__(self, kind):
        self.kind, self.texts, self.size = kind, [], 0

    def add(self, data):
        """Adds plain data."""
        text = _dumps(data)
        if len(text) > LIMIT - 100:
            raise TooLarge(len(text))
        if self.size + len(text) > self.SIZE:
            self.send()
        self.texts.append(text)
        self.size += len(text)

    def send(self):
        """Sends what was added since the last time."""
        if self.texts:
            data = f'["{self.kind}",[{",".join(self.texts)}]]'.encode()
            self.texts, self.size = [], 0
            with _lock:
                flush()
                _write(data)

def receive():
    """Returns the next message; None at the end."""
    head = _source.read(4)
    if len(head) < 4:
        return None
    return _loads(_source.read(struct.unpack("<I", head)[0]))

def ask(message):
    """Sends a question, and returns the answer."""
    with _lock:
        send(message)
        answer = receive()
    if answer is None:
        os._exit(1)
    return answer

class Unfit(Exception):
    """A value that a model cannot hold."""

# Texts that have a class of their own keep it on their way through the model.
_special = {}
references = []

def has_special():
    """Reports whether there are such texts."""
    return bool(_special)

def encode(v, depth=0):
    """Returns a value as it is sent."""
    t = type(v)
    if t is str:
        return v if v.isascii() else _whole(v)
    if v is None or t is bool or t is int:
        return v
    if t is float:
        return v if math.isfinite(v) else {"f": repr(v)}
    if depth > MAX_DEPTH:
        raise too_deep(v)
    if t is list or t is tuple:
        return [encode(x, depth + 1) for x in v]
    if t is dict:
        return {"d": {_key(k): encode(x, depth + 1) for k, x in v.items()}}
    for cls, how in _encoders:
        if isinstance(v, cls):
            return how(v)
    if isinstance(v, str):
        text = _whole(str.__str__(v))
        _special[text] = v
        return text
    if isinstance(v, int):
        return int(v)
    if isinstance(v, float):
        return encode(float(v))
    if isinstance(v, (list, tuple)):
        return [encode(x, depth + 1) for x in v]
    if isinstance(v, dict):
        return {"d": {_key(k): encode(x, depth + 1) for k, x in v.items()}}
    raise Unfit(f"{_kind(v)}, which a model cannot hold")

def _whole(text):
    """Refuses a text with half a character, which no other program could read."""
    try:
        text.encode()
    except UnicodeEncodeError as e:
        part = ascii(text[max(e.start - 10, 0):e.end + 10])
        raise Unfit(f"a text that is not Unicode, which a model cannot hold: in {part}, {ascii(text[e.start])} is one half "
                    "of a pair of surrogates") from None
    return text

def too_deep(v):
    """Returns what is wrong with a value that has no end, or too many levels."""
    todo, within = [(v, True)], {}
    while todo:
        v, begins = todo.pop()
        if not isinstance(v, (list, tuple, dict)):
            continue
        if not begins:
            within[id(v)] = False  # it was looked through, and may stand elsewhere as well
        elif within.get(id(v)):
            return Unfit(f"a {'dict' if isinstance(v, dict) else 'list'} that holds itself, which a model cannot hold")
        elif id(v) not in within:
            within[id(v)] = True
            todo.append((v, False))
            todo.extend((x, True) for x in (v.values() if isinstance(v, dict) else v))
    return Unfit(f"a value that is more than {MAX_DEPTH} levels deep")

def _kind(v):
    import types
    if isinstance(v, types.GeneratorType):
        return "a generator"
    name = type(v).__name__
    return ("an " if name[:1].lower() in "aeiou" else "a ") + name

def _key(k):
    if isinstance(k, str):
        return _whole(str.__str__(k))
    raise Unfit(f"a dict whose key {k!r} is not a string")

_encoders = []

def register(cls, how):
    """Says how instances of a class are sent."""
    _encoders.append((cls, how))

# What null is within a list or a dict. A model has an object of its own for it there; proxies make None of it.
null = None

_decoders = {"d": lambda x: {k: null if v is None else decode(v) for k, v in x.items()}, "f": float}

def decoder(tag, how):
    """Says what a tagged value becomes."""
    _decoders[tag] = how

def decode(v):
    """Returns a value that was sent."""
    t = type(v)
    if t is str:
        return _special.get(v, v) if _special else v
    if t is list:
        return [null if x is None else decode(x) for x in v]
    if t is dict:
        (tag, of), = v.items()
        return _decoders[tag](of)
    return v
