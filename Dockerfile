# Holdfast in a container.
#
#     docker build --tag holdfast .
#     docker run --publish 127.0.0.1:8080:8080 --volume locks:/var/lib/holdfast --env HOLDFAST_INSECURE=true holdfast
#
# Inside, the server listens on every address: give it a token (HOLDFAST_AUTH_TOKEN_FILE, the name of a file that is
# mounted), or say HOLDFAST_INSECURE=true where only those can reach it who may. Without a token, clients that call it by
# a name, such as that of the container, need HOLDFAST_HOST_NAME to be that name.

FROM debian:12 AS build
RUN apt-get update && apt-get install --yes --no-install-recommends make
COPY . /source
# Installs what tools/packages lists, and builds the Debian package.
RUN make --directory /source package

FROM debian:12-slim
COPY --from=build /source/build/package/package/*.deb /tmp/
# What the package depends on comes with it. It also makes the user.
RUN apt-get update && apt-get install --yes --no-install-recommends /tmp/*.deb \
    && rm -rf /tmp/*.deb /var/lib/apt/lists/* \
    && install --directory --owner holdfast --group holdfast --mode 750 /var/lib/holdfast
USER holdfast
VOLUME /var/lib/holdfast
ENV HOLDFAST_HTTP=0.0.0.0:8080 HOLDFAST_DFLOCKD=0.0.0.0:6388
EXPOSE 8080 6388
# For a server without TLS.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["bash", "-c", \
    "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["holdfast"]
CMD ["serve", "--config", "/etc/holdfast/holdfast.conf"]
