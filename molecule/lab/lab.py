# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab: GPU hosts with real systemd on a machine without a GPU. See README.md beside this.

Needs Python 3.11 and nothing beyond its standard library.
"""

from __future__ import annotations

import argparse
import shlex
import sys

if sys.version_info < (3, 11):
    sys.exit(f"lab: needs Python 3.11 or newer, this is {sys.version.split()[0]}")

import controller
import guest
import host
import image
import models
import router
import wheelhouse
from base import LabError


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(description=__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text)

    doctor = command("doctor", "tell what this machine offers and what is missing")
    doctor.add_argument("--install", action="store_true", help="install what is missing (root)")
    command("controller", "make the controller's virtual environment; print its bin folder")
    command("collections", "install the collections; print ANSIBLE_COLLECTIONS_PATH")
    command("wheelhouse", "download the real engine's wheels; print their folder")
    command("models", "write the models; print their folder")
    command("image", "make the guests' image; print its name")
    command("router", "install the real router for this machine; print its folder")
    command("up", "boot the guests of a scenario; print their names").add_argument("scenario")
    down = command("down", "remove the guests of a scenario, or of all")
    down.add_argument("scenario", nargs="?", help="all without it")
    down.add_argument("--all", action="store_true", help="all scenarios of this clone")
    command("shell", "open a shell in a guest").add_argument("guest")
    command("gc", "remove guests and what interrupted runs left half-made")
    command("env", "print the shell's export lines for ansible and molecule")
    return top


def run(asked: argparse.Namespace) -> None:
    """Do what the command line asks for. What a caller reads is the last line of stdout."""
    answers = {
        "controller": controller.controller,
        "collections": controller.collections,
        "wheelhouse": wheelhouse.wheelhouse,
        "models": models.models,
        "image": image.image,
        "router": router.router,
    }
    acts = {
        "doctor": lambda: host.doctor(asked.install),
        "up": lambda: guest.up(asked.scenario),
        "down": lambda: guest.down(None if asked.all else asked.scenario),
        "shell": lambda: guest.shell(asked.guest),
        "gc": guest.collect_garbage,
        "env": print_environment,
    }
    if asked.command in answers:
        print(answers[asked.command]())
    else:
        acts[asked.command]()


def print_environment() -> None:
    """The shell's export lines, for `eval "$(lab.py env)"`."""
    variables = {**controller.environment(), "LAB_WHEELHOUSE": str(wheelhouse.wheelhouse())}
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")


def main() -> int:
    try:
        run(parser().parse_args())
    except (LabError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
