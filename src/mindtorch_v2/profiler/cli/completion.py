"""Prints completion of commands, options and files for a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from .main import COMMANDS, parser_of
from .run import WITH_VALUE

EXAMPLE = ('eval "$(mindprof completion bash)"', 'eval "$(mindprof completion zsh)"')

_BASH = """_mindprof() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" at=2
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=( $(compgen -W "{commands} --help --version" -- "$word") )
    return
  fi
  if [ "$command" = run ]; then
    while [ "$at" -lt "$COMP_CWORD" ]; do
      case "${{COMP_WORDS[at]}}" in
        {with_value}) at=$((at + 1)); if [ "${{COMP_WORDS[at]}}" = "=" ]; then at=$((at + 1)); fi ;;
        -m|-c|-|--|[!-]*) COMPREPLY=( $(compgen -f -- "$word") ); return ;;
      esac
      at=$((at + 1))
    done
  fi
  case "$word" in
    -*) case "$command" in
{options}
      esac ;;
    *) case "$command:$COMP_CWORD" in
{choices}
      *) COMPREPLY=( $(compgen -f -- "$word") ) ;;
      esac ;;
  esac
}}
complete -o filenames -F _mindprof mindprof
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"))


def run(options: argparse.Namespace) -> int:
    print(script(options.shell), end="")
    return 0


def script(shell: str) -> str:
    """The text that a shell evaluates. zsh uses bash's by its own emulation."""
    options = [_case(name, _options(name)) for name in COMMANDS]
    choices = [
        _case(f"{name}:{2 + at}", action.choices)
        for name in COMMANDS
        for at, action in enumerate(a for a in parser_of(name)._actions if not a.option_strings)
        if action.choices
    ]
    text = _BASH.format(
        commands=" ".join(COMMANDS),
        with_value="|".join(WITH_VALUE),
        options="\n".join(options),
        choices="\n".join(choices),
    )
    return text if shell == "bash" else "autoload -Uz bashcompinit && bashcompinit\n" + text


def _case(pattern: str, words: Iterable[str]) -> str:
    return f'      {pattern}) COMPREPLY=( $(compgen -W "{" ".join(words)}" -- "$word") ) ;;'


def _options(name: str) -> list[str]:
    return [text for action in parser_of(name)._actions for text in action.option_strings]
