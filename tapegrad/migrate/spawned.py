"""The main module of a process that a running program has spawned: it becomes the program's own."""

from tapegrad.migrate.spawning import run_again

if __name__ == "__mp_main__":
    run_again(globals())
