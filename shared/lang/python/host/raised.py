"""Problems of a model as exceptions of the classes that the library's compiler raises."""
import inmanta.ast
from inmanta import ast
from inmanta.plugins import PluginException

class CompileError(ast.CompilerException):
    """The problems of a model. The exception of a plugin is its cause."""

    def __init__(self, problems, cause):
        ast.CompilerException.__init__(self, "\n".join(p["text"] for p in problems))
        self.problems, self.stmt, self.__cause__ = problems, None, cause
        if problems and problems[0]["line"]:
            self.location = ast.Location(problems[0]["file"], problems[0]["line"])

    def get_causes(self):
        return [self.__cause__] if isinstance(self.__cause__, ast.CompilerException) else []

    def get_message(self):
        return self.msg

    def format(self):
        return self.msg

    def format_trace(self, indent="", indent_level=0):
        return self.msg

    def importantance(self):
        return 100

def _parser():
    from inmanta.parser import ParserException
    return ParserException

def _missing():
    from inmanta.module import ModuleLoadingException
    return ModuleLoadingException

_classes = {  # by the code of the problem
    "double_set": ast.DoubleSetException, "optional_unset": ast.OptionalValueException,
    "modified_after_freeze": ast.ModifiedAfterFreezeException, "unknown_type": ast.TypeNotFoundException,
    "unknown_variable": ast.NotFoundException, "unknown_attribute": ast.NotFoundException,
    "unknown_namespace": ast.NotFoundException, "duplicate_definition": ast.DuplicateException,
    "inheritance": ast.TypingException, "typedef": ast.TypingException, "implement": ast.TypingException,
    "relation": ast.TypingException, "index": ast.IndexException, "key": ast.KeyException,
    "dataclass": ast.DataClassException, "reference": ast.UnexpectedReference,
}
_wrapping = {"type_mismatch", "type_condition", "relation_null", "relation_arity"}
_made = {}

def _class_of(code, cause):
    """Returns the class of the library for a problem."""
    if code in _wrapping:
        return ast.AttributeException
    if code == "plugin" or cause is not None:
        if isinstance(cause, PluginException):
            return ast.ExplicitPluginException
        return ast.WrappingRuntimeException if isinstance(cause, ast.CompilerException) else ast.ExternalException
    if code == "syntax":
        return _parser()
    if code == "import":
        return _missing()
    return _classes.get(code, ast.RuntimeException)

def error(problems, cause):
    """Returns the exception for the problems of a model. cause is the exception of a plugin, or None."""
    first = problems[0] if problems else {"code": "", "text": ""}
    of = _class_of(first["code"], cause)
    if cause is None and issubclass(of, ast.WrappingRuntimeException):
        cause = ast.RuntimeException(None, first["text"])
    if of not in _made:
        _made[of] = type("CompileError", (CompileError, of), {"__module__": __name__, "__doc__": CompileError.__doc__})
    return _made[of](problems, cause)
