# docker build -t perceiver . && docker run --rm -v "$PWD:/work" perceiver fill "It was a [MASK] night."
FROM debian:bookworm AS build
COPY . /source
WORKDIR /source
RUN make package

FROM debian:bookworm-slim
COPY --from=build /source/dist/*.deb /tmp/
RUN apt-get install -y /tmp/*.deb && rm /tmp/*.deb
WORKDIR /work
ENTRYPOINT ["perceiver"]
CMD ["--help"]
