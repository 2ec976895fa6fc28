#!/bin/sh
# The tests of databases start a PostgreSQL server of their own. This installs its programs where they are missing.
set -eu
case "$(uname -s)" in MINGW* | MSYS* | CYGWIN*)
    echo "The tests of PostgreSQL are left out on Windows: see tests/windows.py."
    exit 0
    ;;
esac
for initdb in "$(command -v initdb || true)" /usr/lib/postgresql/*/bin/initdb; do
    [ -x "$initdb" ] && exit 0
done
echo "Installing PostgreSQL, for the tests of databases ..."
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "PostgreSQL's server is missing, and only root can install it with apt-get." >&2
    echo "Install it yourself, with initdb on the PATH, then run this again." >&2
    echo "Debian: sudo apt-get install postgresql. macOS: brew install postgresql@17, and its bin folder on the PATH." >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql >/dev/null; }; then
    echo "apt-get could not install PostgreSQL. Is the package mirror within reach?" >&2
    exit 1
fi
