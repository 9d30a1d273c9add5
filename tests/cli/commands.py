"""How tests call the command line."""

from standing_orders.cli.app import main


def run(*words: str) -> int:
    """Exit code of a command; the parser leaves by SystemExit."""
    try:
        return main(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)


def stop(*_: object) -> None:
    raise KeyboardInterrupt
