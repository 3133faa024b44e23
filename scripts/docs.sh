#!/usr/bin/env bash
# What a reader would stumble over: `make test` runs it in the stage `tree`.
#
#   codes   a code of a requirement, such as I-7, that stands in code or documents and that docs/papers.md does not define
#   links   a relative link in a document to a file, or to a heading, that is not there
#   paths   a source file or folder that ARCHITECTURE.md names and that is not there
#   book    a page of docs/ that the book (docs/SUMMARY.md) leaves out
#
# A code is one of the letters that papers.md uses, a hyphen and a number. Raw measurements are not looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
bad=0

fail() {
    echo "$*"
    bad=1
}

codes() {
    local defined code
    defined=$(sed -n 's/^| \([A-Z]*-[0-9]*\) |.*/\1/p' docs/papers.md)
    [[ -n $defined ]] || fail "docs/papers.md: no codes"
    while IFS=: read -r file line code; do
        grep -qx "$code" <<<"$defined" || fail "$file:$line: $code is not defined in docs/papers.md"
    done < <(git grep -noE --untracked '(^|[^A-Za-z0-9-])(I|D|N|X|L|R|S|MS)-[0-9]+\b' -- '*.rs' '*.c' '*.h' '*.md' '*.sh' '*.toml' \
        ':!docs/papers.md' ':!docs/results' | sed 's/:[^:A-Z]*\([A-Z]*-[0-9]*\)$/:\1/')
}

# The anchors of a document as GitHub makes them: of its headings, and those written as <a id="...">.
anchors() {
    awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ +/, ""); print }' "$1" |
        tr '[:upper:]' '[:lower:]' | sed 's/[^[:alnum:] _-]//g; s/ /-/g'
    sed -n 's/.*<a id="\([^"]*\)">.*/\1/p' "$1"
}

links() {
    local file link target anchor
    while IFS= read -r file; do
        while IFS= read -r link; do
            target=${link%%#*}
            anchor=${link#"$target"}
            anchor=${anchor#\#}
            if [[ -z $target ]]; then target=$file; else target=$(dirname "$file")/$target; fi
            if [[ ! -e $target ]]; then
                fail "$file: no such file: $link"
            elif [[ -n $anchor && $target == *.md ]] && ! grep -qxF -- "$anchor" < <(anchors "$target"); then
                fail "$file: no such heading: $link"
            fi
        done < <(awk '/^```/ { code = !code } !code { gsub(/`[^`]*`/, ""); print }' "$file" |
            grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' | grep -vE '^(https?|mailto):' || true)
    done < <(git ls-files --cached --others --exclude-standard -- '*.md')
}

# Braces are expanded as a shell does; a module may be named without its ending.
paths() {
    local token path
    while IFS= read -r token; do
        for path in $(eval "echo $token"); do
            [[ -e crates/$path || -e crates/$path.rs ]] || fail "ARCHITECTURE.md: no such file: $path"
        done
    done < <(tr '`' '\n' <ARCHITECTURE.md | grep -xE 'lull[a-z-]*/src/[A-Za-z0-9_{},./-]+')
}

book() {
    local file
    while IFS= read -r file; do
        [[ $file == docs/SUMMARY.md || $file == docs/results/*/* ]] && continue
        grep -qF "(${file#docs/})" docs/SUMMARY.md || fail "docs/SUMMARY.md: without $file"
    done < <(git ls-files --cached --others --exclude-standard -- 'docs/*.md')
}

codes
links
paths
book
exit "$bad"
