"""Prints completion of commands, options and files for a shell."""

from __future__ import annotations

import argparse

from .main import COMMANDS, parser_of

EXAMPLE = ('eval "$(mindprof completion bash)"', 'eval "$(mindprof completion zsh)"')

_BASH = """_mindprof() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=( $(compgen -W "{commands} --help --version" -- "$word") )
    return
  fi
  case "$word" in
    -*) case "${{COMP_WORDS[1]}}" in
{cases}
      esac ;;
    *) COMPREPLY=( $(compgen -f -- "$word") ) ;;
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
    cases = "\n".join(
        f'      {name}) COMPREPLY=( $(compgen -W "{" ".join(_options(name))}" -- "$word") ) ;;' for name in COMMANDS
    )
    text = _BASH.format(commands=" ".join(COMMANDS), cases=cases)
    return text if shell == "bash" else "autoload -Uz bashcompinit && bashcompinit\n" + text


def _options(name: str) -> list[str]:
    return [text for action in parser_of(name)._actions for text in action.option_strings]
