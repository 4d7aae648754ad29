"""Predictions over HTTP.

``server`` listens, ``app`` has the addresses, ``batcher`` takes the requests that wait, and ``engine`` answers them
together. ``access`` says who may ask and how much, ``page`` what the service tells about itself.
Needs FastAPI and uvicorn: ``pip install 'bankgcn[serve]'``.
"""
