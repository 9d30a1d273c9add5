# CPU only: docker build -t standing-orders . && docker run --rm -it standing-orders
FROM python:3.13-slim

WORKDIR /opt/standing-orders
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt \
        --extra-index-url https://download.pytorch.org/whl/cpu ".[tensorboard]" \
    && useradd --create-home --uid 1000 commander

USER 1000
WORKDIR /home/commander
ENTRYPOINT ["standing-orders"]
# The demo, as `make demo` runs it: search the 120 orders with a small budget.
CMD ["search", "--preset", "search-contested", "--base.episodes", "10000", "--budget", "26000", \
     "--run", "runs/demo"]
