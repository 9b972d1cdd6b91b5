"""python -m authoring build | stamp | check | colab | site | slides | assignment: see CONTRIBUTING.md."""

import argparse
import os
import sys
from pathlib import Path

from authoring.assignment import build_assignment
from authoring.build import Plan, build, build_colab
from authoring.course import LANGUAGES, read_course
from authoring.errors import SourceError
from authoring.release import check
from authoring.stamp import stamp


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return 1 after printing what is wrong in the sources."""
    options = _parser().parse_args(arguments)
    root = options.root.resolve()
    try:
        if options.command == "stamp":
            _stamp(root, options)
        elif options.command == "check":
            _check(options.file)
        elif options.command == "assignment":
            slug, language, into = options.lesson, options.language, options.into
            build_assignment(root, slug, language, options.variant, into, _say(root))
        elif options.command == "slides":
            _slides(root, options)
        elif options.command == "site":
            from authoring.site.build import build_site  # needs the extra `site`

            build_site(root, _say(root))
        else:
            languages = (options.language,) if options.language else ()
            step = build if options.command == "build" else build_colab
            step(root, Plan(tuple(options.lesson), languages, _run(options)), _say(root))
    except SourceError as error:
        return _complain(root, [error])
    except ExceptionGroup as group:
        return _complain(root, group.exceptions)
    return 0


def _complain(root: Path, errors) -> int:
    for error in errors:
        print(str(error).replace(f"{root}{os.sep}", ""), file=sys.stderr)
    return 1


def _stamp(root: Path, options: argparse.Namespace) -> None:
    if bool(options.lesson) == options.all:
        raise SystemExit("stamp: name the lessons that you have read, or --all")
    for lesson in read_course(root).pick(tuple(options.lesson)):
        stamp(lesson, _say(root))


def _check(files: list[Path]) -> None:
    for file in files:
        wrong = check(file)
        print(f"cleaned   {file}: {'; '.join(wrong)}" if wrong else f"in order  {file}")


def _slides(root: Path, options: argparse.Namespace) -> None:
    from authoring.slides import build_slides  # needs the extra `slides`
    from authoring.slides_pdf import print_decks

    languages = (options.language,) if options.language else ()
    decks = build_slides(root, Plan(tuple(options.lesson), languages), _say(root))
    if options.pdf:
        print_decks(decks, _say(root))


def _run(options: argparse.Namespace) -> str:
    if getattr(options, "no_execute", False):
        return "none"
    return "all" if os.environ.get("EXECUTE") == "all" else "changed"


def _say(root: Path):
    return lambda line: print(line.replace(f"{root}{os.sep}", ""), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m authoring")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the repository")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("check", help="clean notebooks that Colab, say, has saved")
    command.add_argument("file", nargs="+", type=Path)
    commands.add_parser("site", help="write dist/site/, the lessons as pages in both languages")
    for name, what in (
        ("build", "write notebooks/ (EXECUTE=all runs every solution again)"),
        ("colab", "write dist/colab/, notebooks that need no other file"),
        ("slides", "write dist/slides/, a deck of each lesson that opens without a network"),
        ("stamp", "say that these translations are up to date"),
    ):
        command = commands.add_parser(name, help=what)
        command.add_argument("lesson", nargs="*", help="such as 01_block_matrix")
        if name == "stamp":
            command.add_argument("--all", action="store_true", help="all lessons")
        else:
            command.add_argument("--language", choices=LANGUAGES)
        if name == "slides":
            command.add_argument("--pdf", action="store_true", help="also as PDF, by Chromium")
        if name == "build":
            command.add_argument("--no-execute", action="store_true", help="run no notebook")
    _add_assignment(commands.add_parser("assignment", help="write an nbgrader course folder"))
    return parser


def _add_assignment(command: argparse.ArgumentParser) -> None:
    command.add_argument("lesson", help="such as 04_online_softmax")
    command.add_argument("--language", choices=LANGUAGES, default="en")
    command.add_argument("--variant", default="", help="a name from which exercises draw")
    command.add_argument("--into", type=Path, help="the course folder (dist/assignments/LANGUAGE)")


if __name__ == "__main__":
    sys.exit(main())
