"""What compilers, profilers and checkers say about a submission. Help for its author; no verdict is made of it.

One module for each source of knowledge; `session.profile` asks all of them.
"""
