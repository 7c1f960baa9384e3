"""The faults that planted.py plants: small changes of Keras's functions, drawn at random, and those of planted.toml.

No tool serves: cosmic-ray and mutmut drop no terms and know neither axes nor Keras's `ops.add(a, b)`, and neither's
operators are a library. So the standard library's `ast` finds the places, and text is put in place of text.
"""

from __future__ import annotations

import ast
import random
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import CodeType

DECLARED = Path(__file__).with_name("planted.toml")
BY_HAND = "by hand"
# Of a hundred drawn mutants so many are in each part of Keras.
AREAS: Mapping[str, tuple[int, str]] = {
    "layers": (30, "layers/**/*.py"),
    "optimizers": (14, "optimizers/*.py"),
    "metrics": (12, "metrics/*.py"),
    "ops": (12, "ops/*.py"),
    "backend's nn": (12, "backend/torch/nn.py"),
    "losses": (9, "losses/*.py"),
    "activations": (5, "activations/*.py"),
    "initializers": (4, "initializers/*.py"),
    "constraints": (2, "constraints/*.py"),
}
# So many more, drawn by themselves, where the backend has its own in place of some of those.
OWN_AREA, OWN_SHARE, OWN_FILES = "backend's optimizers", 0.08, "backend/torch/optimizers/*.py"
AXES = ("axis", "axes", "dim", "dims", "axis1", "axis2")
KEPT = ("name", "dtype", "trainable", "seed", "device")  # of a call: what it computes does not depend on them
COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="
}  # fmt: skip
CALLED: Mapping[str, str] = {  # as functions
    "add": "subtract", "subtract": "add", "less": "less_equal", "less_equal": "less", "greater": "greater_equal",
    "greater_equal": "greater", "equal": "not_equal", "not_equal": "equal", "maximum": "minimum",
    "minimum": "maximum",
}  # fmt: skip
TERMS = {"add": (0, 1), "subtract": (0,), "multiply": (0, 1), "divide": (0,), "true_divide": (0,)}  # that may be left
TEXTS = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)
UNSAID = (ast.Raise, ast.Assert)  # what is said in an error

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutant:
    """A change of a function of Keras."""

    id: str  # "layers/core/dense.py:103:16 sign"
    area: str
    kind: str
    file: str  # below keras/src
    function: str  # its name
    line: int  # the first one of the function, decorators included
    owner: str  # the function or class at the top of the file that it is in
    start: int  # of what is changed in the file's bytes
    end: int
    was: str
    now: str

    def planted(self, source: bytes) -> bytes:
        """The file with this change."""
        return source[: self.start] + self.now.encode() + source[self.end :]


def draw(keras: Path, number: int, seed: int) -> list[Mutant]:
    """So many mutants of the Keras in that folder, and some of its backend's own optimizers; of each, fewer of the
    same seed are the first of more.
    """
    own = {OWN_AREA: (1, OWN_FILES)}
    return [*_draw(keras, number, seed, AREAS), *_draw(keras, round(number * OWN_SHARE), seed, own)]


def _draw(keras: Path, number: int, seed: int, areas: Mapping[str, tuple[int, str]]) -> list[Mutant]:
    choice, found = random.Random(seed), list[Mutant]()
    places = {area: _by_kind(keras, area, pattern) for area, (_, pattern) in areas.items()}
    weights = [weight for weight, _ in areas.values()]
    out = {one["mutant"] for one in declared().get("left_out", [])}
    while len(found) < number and any(places.values()):
        (area,) = choice.choices([*areas], weights)
        kinds = places[area]
        kind = choice.choice(sorted(kinds)) if kinds else ""
        if not kind:
            continue
        one = kinds[kind].pop(choice.randrange(len(kinds[kind])))
        kinds = places[area] = {name: of for name, of in kinds.items() if of}
        is_out = one.id in out or _is_like(declared()["not_reached"], one.file, one.owner, one.function)
        if not is_out and _is_a_change(one, (keras / "src" / one.file).read_bytes()):
            found.append(one)
    return found


@cache
def declared() -> dict[str, list[dict[str, str]]]:
    """What planted.toml says: mutants by hand, functions where none are drawn, and those left out, each with why."""
    return tomllib.loads(DECLARED.read_text(encoding="utf-8"))


def by_hand(keras: Path) -> list[Mutant]:
    """Those that somebody wrote. Raises ValueError if this Keras has another text."""
    found = []
    for one in declared()["by_hand"]:
        file, was = one["file"], one["was"].encode()
        source = (keras / "src" / file).read_bytes()
        start = source.find(was)
        if start < 0:
            raise ValueError(f"{file} of this Keras has no {one['was']!r}")
        line = source.count(b"\n", 0, start) + 1
        owner, function = next(
            pair for pair in _functions(ast.parse(source)) if pair[1].lineno <= line <= (pair[1].end_lineno or 0)
        )
        found.append(
            Mutant(
                id=one["name"],
                area=next(area for area, (_, of) in AREAS.items() if of.startswith(file.partition("/")[0])),
                kind=BY_HAND,
                file=file,
                function=function.name,
                line=_first_line(function),
                owner=owner,
                start=start,
                end=start + len(was),
                was=one["was"],
                now=one["now"],
            )
        )
    return found


def _by_kind(keras: Path, area: str, pattern: str) -> dict[str, list[Mutant]]:
    found: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted((keras / "src").glob(pattern)):
        if path.name.endswith("_test.py") or path.name == "__init__.py":
            continue
        file = path.relative_to(keras / "src").as_posix()
        for one in of_file(file, path.read_bytes(), area):
            found[one.kind].append(one)
    return dict(found)


def of_file(file: str, source: bytes, area: str = "") -> Iterator[Mutant]:
    """All mutants of a file."""
    starts = [0]
    for text in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    for owner, function in _functions(ast.parse(source)):
        if _is_like(declared()["not_drawn"], file, owner, function.name):
            continue
        drawn = Counter[str]()
        for kind, node, now in _changes(function):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            was = source[start:end].decode()
            where = f"{file}:{node.lineno}:{node.col_offset} {kind}"
            drawn[where] += 1
            where += f" {drawn[where]}" if drawn[where] > 1 else ""
            line = _first_line(function)
            yield Mutant(where, area, kind, file, function.name, line, owner, start, end, was, now)


def _is_like(patterns: Sequence[Mapping[str, str]], *place: str) -> bool:
    """Whether one of the patterns is of this file, owner and function."""
    return any(fnmatchcase(" ".join(place), one["function"]) for one in patterns)


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """The functions of a file and the methods of its classes, each with what is at the top of the file."""
    for top in tree.body:
        if isinstance(top, Function):
            yield top.name, top
        elif isinstance(top, ast.ClassDef):
            yield from ((top.name, one) for one in top.body if isinstance(one, Function))


def _first_line(function: Function) -> int:
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def _changes(function: Function) -> Iterator[tuple[str, ast.expr, str]]:
    """Kind, what is changed, and the text that takes its place."""
    arguments = function.args
    with_default = [*arguments.args, *arguments.kwonlyargs]
    values = [*[None] * (len(arguments.args) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
    defaults = {
        one.arg: ast.unparse(value)
        for one, value in zip(with_default, values, strict=True)
        if isinstance(value, ast.Constant) and one.arg not in KEPT
    }
    for node, parent in _nodes(function):
        yield from ((kind, node, now) for kind, now in _of_node(node, parent, defaults))


def _nodes(function: Function) -> Iterator[tuple[ast.expr, ast.AST]]:
    """The expressions of a function's body that compute something, each with what it is in."""
    below: list[tuple[ast.AST, ast.AST]] = [(one, function) for one in reversed(function.body)]
    while below:
        node, parent = below.pop()
        if isinstance(node, UNSAID) or _is_said(node):
            continue
        if isinstance(node, ast.expr):
            yield node, parent
        below += [(one, node) for one in reversed(list(ast.iter_child_nodes(node)))]


def _is_said(node: ast.AST) -> bool:
    """Whether it is a text, or a warning."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and "warn" in ast.unparse(node.func))


def _of_node(node: ast.expr, parent: ast.AST, defaults: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    is_axis = (isinstance(parent, ast.keyword) and parent.arg in AXES) or _is_of_shape(node, parent)
    number = _number(node)
    if number is not None and is_axis:
        yield "axis", str(number - 1 if number < 0 else number + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield (
            "axis" if isinstance(parent, ast.keyword) and parent.arg == "keepdims" else "constant",
            str(not node.value),
        )
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield "constant", repr(node.value * 1.25 or 0.1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(parent, ast.UnaryOp):
        yield "constant", str(node.value + 1)
    elif isinstance(node, ast.BinOp) and not any(_is_text(one) for one in (node.left, node.right)):
        yield from _of_operation(node)
    elif (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant)
    ):
        yield "sign", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS and len(node.ops) == 1:
        other = COMPARISONS[type(node.ops[0])]
        yield "comparison", f"({ast.unparse(node.left)} {other} {ast.unparse(node.comparators[0])})"
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in defaults:
        if not isinstance(parent, ast.Compare):
            yield "ignored argument", defaults[node.id]
    elif isinstance(node, ast.Call):
        yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    function = node.func
    if isinstance(function, ast.Attribute) and len(node.args) == 2:
        if other := CALLED.get(function.attr):
            kind = "sign" if function.attr in TERMS else "comparison"
            yield kind, ast.unparse(ast.Call(ast.Attribute(function.value, other), node.args, node.keywords))
        yield from (("dropped term", f"({ast.unparse(node.args[term])})") for term in TERMS.get(function.attr, ()))
    for one in node.keywords:
        is_given = isinstance(one.value, ast.Name | ast.Attribute) and one.arg and one.arg not in KEPT
        if is_given and ast.unparse(function) != "super().__init__":
            others = [each for each in node.keywords if each is not one]
            yield "ignored argument", ast.unparse(ast.Call(function, node.args, others))


def _of_operation(node: ast.BinOp) -> Iterator[tuple[str, str]]:
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    if isinstance(node.op, ast.Add | ast.Sub):
        yield "sign", f"(({left}) {'-' if isinstance(node.op, ast.Add) else '+'} ({right}))"
    if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        yield "dropped term", f"({left})"
    if isinstance(node.op, ast.Add | ast.Mult):
        yield "dropped term", f"({right})"


def _is_of_shape(node: ast.expr, parent: ast.AST) -> bool:
    """Whether it is an axis of a shape."""
    return isinstance(parent, ast.Subscript) and node is parent.slice and "shape" in ast.unparse(parent.value)


def _is_text(node: ast.expr) -> bool:
    """Whether it is joined, not added: what a part of it is decides."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, TEXTS) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        below = _number(node.operand)
        return None if below is None else -below
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    return None


def _is_a_change(one: Mutant, source: bytes) -> bool:
    """Whether it makes another code, which can take the place of the old one in a function that is there."""
    before, after = (function_code(text, one.function, one.line) for text in (source, one.planted(source)))
    return before is not None and after is not None and before != after and before.co_freevars == after.co_freevars


def function_code(source: bytes, name: str, line: int) -> CodeType | None:
    """The code of the function that begins in this line; None if there is none, or the text is no Python."""
    try:
        below: list[CodeType] = [compile(source, "", "exec")]
    except SyntaxError:
        return None
    while below:
        code = below.pop()
        if code.co_name == name and code.co_firstlineno == line:
            return code
        below += [one for one in code.co_consts if isinstance(one, CodeType)]
    return None


class Mentions:
    """Which public names a function of Keras serves: those whose definitions mention it, or mention what does."""

    def __init__(self, keras: Path, public: Collection[str]) -> None:
        self._mentioned_in: dict[str, set[str]] = defaultdict(set)
        self._public: dict[str, list[str]] = defaultdict(list)
        for path in sorted((keras / "src").rglob("*.py")):
            if path.name.endswith("_test.py") or _is_other_backend(path.relative_to(keras / "src").parts):
                continue
            for top in ast.parse(path.read_bytes()).body:
                if isinstance(top, Function | ast.ClassDef):
                    self._add(top, public)

    def _add(self, top: Function | ast.ClassDef, public: Collection[str]) -> None:
        for one in (each for decorator in top.decorator_list for each in ast.walk(decorator)):
            name = str(one.value).removeprefix("keras.") if isinstance(one, ast.Constant) else ""
            if name in public and name not in self._public[top.name]:
                self._public[top.name].append(name)
        for node in ast.walk(top):
            mentioned = {ast.Name: "id", ast.Attribute: "attr"}.get(type(node))
            if mentioned:
                self._mentioned_in[getattr(node, mentioned)].add(top.name)

    def of(self, owner: str, most: int, order: Callable[[str], tuple[bool, float]]) -> list[str]:
        """At most so many public names, the nearest first; those equally near in this order."""
        found, near, seen = dict[str, None](), {owner}, {owner}
        while near and len(found) < most:
            found |= dict.fromkeys(sorted((name for one in near for name in self._public.get(one, ())), key=order))
            near = {name for one in near for name in self._mentioned_in[one]} - seen
            seen |= near
        return [*found][:most]


def _is_other_backend(parts: Sequence[str]) -> bool:
    return parts[0] == "backend" and parts[1] in ("jax", "tensorflow", "numpy", "openvino")
