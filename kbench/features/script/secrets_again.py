"""The secrets of a program, which results do not keep: a run that is continued is given them again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kbench.base import paths
from kbench.base.masking import MASK, masked_arguments, without_passwords
from kbench.errors import UserError
from kbench.features.script import reading
from kbench.planning.request import Request
from kbench.records.values import Backend


def with_secrets(
    asked: Request, arguments: Sequence[str], packages: Sequence[str], known: Mapping[str, Backend], run: Path
) -> Request:
    """The request of a run with its secrets. Raises UserError if they are not given."""
    script = asked.script
    assert script is not None
    if arguments or any(MASK in one for one in script.arguments):
        if masked_arguments(arguments) != script.arguments:
            raise UserError(
                "The program's arguments have secrets, which were not kept, and resume needs all of them again: "
                f"`resume {run.name} -- {shlex.join(script.arguments)}`, with the true values for {MASK}."
            )
        script = replace(script, arguments=tuple(arguments))
    if any(MASK in one for one in script.packages):
        program = reading.load(paths.with_home(asked.examples[0]), script.module)
        packages = [*packages, *reading.pep723_requirements(program.path, known).packages]
    given = {without_passwords(one): one for one in packages}
    if unknown := [one for one in script.packages if MASK in one and one not in given]:
        raise UserError(
            f"The address of {unknown[0]} has a password, which was not kept: give it again, by "
            f"`resume {run.name} --with ...`, or in the script's `# /// script` block."
        )
    return replace(asked, script=replace(script, packages=tuple(given.get(one, one) for one in script.packages)))
