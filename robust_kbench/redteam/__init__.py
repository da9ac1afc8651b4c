"""How well the evaluator withstands attacks, measured: attack success rate, false positives, and what stops what.

Attacks and honest look-alikes are source files (see corpus). Each attack names the groups of defences without which it
succeeds, and is tried twice: with all of them in force, where it must fail, and without those it names, where it must
succeed; one that fails there too is not armed, and proves nothing. Defences are switched off by replacing functions of
the evaluator while a trial runs (see defences); nothing outside this folder knows of it.
"""
