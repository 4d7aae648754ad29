# bankgcn serve as a container: see docs/serve.md. Python 3.11 is what constraints.txt was tested with.
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# The index of PyTorch has builds without CUDA, which are much smaller.
RUN python -m venv /opt/bankgcn \
    && /opt/bankgcn/bin/pip install --no-cache-dir --constraint constraints.txt \
        --extra-index-url https://download.pytorch.org/whl/cpu '.[serve,molecules]'

FROM python:3.11-slim
# RDKit loads these two.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libxrender1 libxext6 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin bankgcn \
    && install --directory --owner bankgcn --group bankgcn /cache
COPY --from=build /opt/bankgcn /opt/bankgcn
# /cache keeps compiled code, so that only the first start compiles.
ENV PATH=/opt/bankgcn/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1 \
    NUMBA_CACHE_DIR=/cache \
    BANKGCN_CACHE=/tmp/bankgcn
USER bankgcn
VOLUME /cache
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
ENTRYPOINT ["bankgcn", "serve"]
CMD ["/model", "--host", "0.0.0.0", "--token-file", "/run/secrets/bankgcn_token"]
