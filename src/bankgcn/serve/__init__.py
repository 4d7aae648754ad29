"""Predictions over HTTP.

``server`` listens, ``app`` has the addresses, ``batcher`` takes the requests that wait, and ``engine``
answers them together.
Needs FastAPI and uvicorn: ``pip install 'bankgcn[serve]'``.
"""
