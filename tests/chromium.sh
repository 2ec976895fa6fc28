#!/bin/sh
# The tests of the explorer page drive a browser. This installs Debian's Chromium where there is none.
#     sh tests/chromium.sh .venv/bin/python
set -eu
[ -x /usr/bin/chromium ] && exit 0
"$1" tests/browser.py && exit 0
echo "Installing Chromium, for the tests of the explorer page ..."
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "There is no Chromium or Chrome, and only root can install one with apt-get." >&2
    echo "Install it yourself (Debian: sudo apt-get install chromium; elsewhere: $1 -m playwright install --with-deps chromium), then run this again." >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; }; then
    echo "apt-get could not install Chromium. Is the package mirror within reach?" >&2
    exit 1
fi
