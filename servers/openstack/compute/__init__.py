"""The Compute API, version 2.1 with its microversions, as Nova's clients call it.

`routes.py` joins the tables of routes; `versions.py` lists what each microversion changes here. Views read a request,
call the service or selector that `/api/` and the pages call, and write the answer.
"""
