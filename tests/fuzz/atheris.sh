#!/bin/sh
# Coverage-guided fuzzing needs atheris. Where PyPI has no wheel of it, it is compiled, which takes some minutes, against
# clang's libFuzzer; that is also installed here, where it is missing.
#     sh tests/fuzz/atheris.sh .venv/bin/python
set -eu
python=$1
"$python" -c "import atheris" 2>/dev/null && exit 0
install="$python -m pip install --quiet --disable-pip-version-check"
echo "Installing atheris ..."
$install --only-binary :all: "atheris>=3" 2>/dev/null && exit 0

with_libfuzzer() {
    for clang in clang clang-20 clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
        command -v "$clang" >/dev/null || continue
        library=$("$clang" -print-file-name="libclang_rt.fuzzer_no_main-$(uname -m).a")
        [ -f "$library" ] || library=$("$clang" -print-resource-dir)/lib/linux/libclang_rt.fuzzer_no_main-$(uname -m).a
        [ -f "$library" ] && echo "$clang $library" && return 0
    done
    return 1
}

if ! with_libfuzzer >/dev/null; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "clang with its libFuzzer is missing, and only root can install it with apt-get." >&2
        echo "Install it yourself (Debian: sudo apt-get install clang-16 libclang-rt-16-dev g++), then run this again." >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends clang-16 libclang-rt-16-dev g++ >/dev/null; }; then
        echo "apt-get could not install clang. Is the package mirror within reach?" >&2
        exit 1
    fi
fi
found=$(with_libfuzzer)
echo "Compiling atheris with ${found%% *}; this takes some minutes ..."
CLANG_BIN=$(command -v "${found%% *}") LIBFUZZER_LIB=${found#* } $install "atheris>=3"
