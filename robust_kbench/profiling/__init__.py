"""Reports of compilers, profilers and checkers on a submission. They help its author; no verdict is made of them.

Each module asks one source of knowledge; `session.profile` asks all of them.
"""
