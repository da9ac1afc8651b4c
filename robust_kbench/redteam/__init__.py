"""Red team: measures how well the evaluator withstands attacks.

It reports the attack success rate, the false positives, and the defences that stop each attack. Attacks and honest
look-alikes are source files (see corpus). Each attack names the groups of defences without which it succeeds, and is
tried twice. With all defences in force it must fail; without the named groups it must succeed. An attack that fails
there too is not armed, and proves nothing. Defences are switched off by replacing functions of the evaluator while a
trial runs (see defences); nothing outside this folder knows of it.
"""
