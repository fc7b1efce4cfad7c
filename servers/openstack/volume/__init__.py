"""The Volume API as Cinder's clients call it, at /volume/v3: a thin layer over the services of volumes.

`routes` shows the whole door, `faults` how our refusals are answered, `documents` how rows look, `schemas` what bodies
may say, `views` what is done.
"""
