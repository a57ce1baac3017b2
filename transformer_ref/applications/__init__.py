"""What is made with the model: a speller, a translator, and the command line that trains both.

``g2p`` is the trained model that spells words in sounds, ``translation`` goes from text to text,
``toys`` makes small tasks, ``settings`` reads what a run is made from, ``command_line`` runs it.
"""
