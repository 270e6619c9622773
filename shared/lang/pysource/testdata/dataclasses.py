"""Prints the dataclasses of files, by their syntax trees: [path, [[name, fields, frozen], ...]].

fields is null where a base is defined elsewhere."""
import ast, json, sys


def dotted(e):
    if isinstance(e, ast.Subscript):
        return dotted(e.value)
    if isinstance(e, ast.Attribute):
        return dotted(e.value) + "." + e.attr
    return e.id if isinstance(e, ast.Name) else "?"


def statements(body):
    """Yields what runs when a module is loaded."""
    for s in body:
        yield s
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from statements(getattr(s, part, []))
        for other in getattr(s, "handlers", []) + getattr(s, "cases", []):
            yield from statements(other.body)


def pseudo(a):
    name = a.value.split("[")[0] if isinstance(a, ast.Constant) and isinstance(a.value, str) else dotted(a)
    return name.split(".")[-1] in ("ClassVar", "InitVar", "KW_ONLY")


def read(tree):
    names, known, out = set(), {}, []
    for s in ast.walk(tree):
        if isinstance(s, ast.ImportFrom) and s.module == "dataclasses" and not s.level:
            names |= {a.asname or a.name for a in s.names if a.name == "dataclass"}
        if isinstance(s, ast.Import):
            names |= {(a.asname or a.name) + ".dataclass" for a in s.names if a.name == "dataclasses"}
    for s in statements(tree.body):
        if not isinstance(s, ast.ClassDef):
            continue
        fields, frozen, is_one, sure = {}, False, False, True
        for d in s.decorator_list:
            call = d if isinstance(d, ast.Call) else None
            if dotted(call.func if call else d) in names:
                is_one = True
                for k in call.keywords if call else []:
                    if k.arg == "frozen":
                        frozen = getattr(k.value, "value", None) is True
        for b in reversed(s.bases):
            name = dotted(b)
            if name in known:
                if known[name]:
                    base, base_frozen, base_sure = known[name]
                    fields |= {f: 0 for f in base}
                    frozen, sure = frozen or base_frozen, sure and base_sure
                    is_one = is_one or base_sure
            elif name.split(".")[-1] not in ("object", "Generic", "Protocol", "ABC"):
                sure = False
        if is_one:
            for a in s.body:
                if isinstance(a, ast.AnnAssign) and isinstance(a.target, ast.Name) and not pseudo(a.annotation):
                    fields[a.target.id] = 0
            out.append([s.name, list(fields) if sure else None, frozen])
        other = bool(s.decorator_list)  # which may make it one
        known[s.name] = (fields, frozen, sure and is_one) if is_one or other else None
    return out


for path in sys.stdin.read().splitlines():
    try:
        tree = ast.parse(open(path, encoding="utf-8").read())
    except (SyntaxError, ValueError):
        continue
    print(json.dumps([path, read(tree)]))
