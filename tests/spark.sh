#!/bin/sh
# The tests of Spark start clusters of their own on this machine. This installs Java where it is missing.
set -eu
if command -v java >/dev/null || [ -x "${JAVA_HOME:-/nowhere}/bin/java" ]; then
    exit 0
fi
echo "Installing Java 17, for the tests of Spark ..."
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Java is missing, and only root can install it with apt-get." >&2
    echo "Install it yourself, with java on the PATH or JAVA_HOME set, then run this again." >&2
    echo "Debian: sudo apt-get install openjdk-17-jre-headless. macOS: brew install openjdk@17. Windows: winget install EclipseAdoptium.Temurin.17.JRE." >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null; }; then
    echo "apt-get could not install Java 17. Is the package mirror within reach?" >&2
    exit 1
fi
