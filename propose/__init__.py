import irt.interrupts  # noqa: F401  first of all: Ctrl-C is one line from then on
