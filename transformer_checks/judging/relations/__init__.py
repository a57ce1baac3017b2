"""What a wrong answer's results have to do with the right ones, where its mistake has no name.

A layer of diagnosis between the misconceptions and the bare numbers: it looks at what was expected
and received and at which cases fail, and says a relation in the words of the task, only where it
holds in all failing cases that gave a result.
A misleading sentence is worse than none.
Nothing here calls an answer or any object of it.
"""
