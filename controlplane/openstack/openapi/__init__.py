"""The OpenAPI 3.1 document of a door, made of its route table and of the schemas and tables that its views name.

There is no second list: a route, a schema or a filter that comes to a door is in its document.
"""
