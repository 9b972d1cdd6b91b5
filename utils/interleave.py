"""Programs that run at the same time, imitated: generators that take one step in turn."""


def interleave(programs, pick):
    """Let one program after another take a step, up to its next yield, until all have finished.

    programs: generators. pick(n) chooses which of the n unfinished ones is next, 0 … n − 1;
    rng.integers of a NumPy generator shuffles them.
    """
    running = list(programs)
    while running:
        program = running[pick(len(running))]
        try:
            next(program)
        except StopIteration:
            running.remove(program)
