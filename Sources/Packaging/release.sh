#!/usr/bin/env bash
# Checks whether this commit can be released, and makes the tag:
#
#     Sources/Packaging/release.sh          checks, and changes nothing
#     Sources/Packaging/release.sh --tag    checks, and makes the annotated tag. It pushes nothing.
#
# The version stands in Sources/VaultBase/Release.swift. CONTRIBUTING.md has the steps of a release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ $# -gt 1 || ${1:---tag} != --tag ]]; then
    echo "Usage: Sources/Packaging/release.sh [--tag]" >&2
    exit 64
fi

obstacles=()
version=$(sed -nE 's/^ *package static let version = "([0-9]+\.[0-9]+\.[0-9]+)"$/\1/p' Sources/VaultBase/Release.swift)
if [[ -z $version ]]; then
    echo "Sources/VaultBase/Release.swift has no version of the form 1.2.3." >&2
    exit 1
fi

# The sections of the changelog, newest first. The lines under [Unreleased] belong to no version yet.
headings=$(grep -nE '^## ' CHANGELOG.md || true)
first=$(sed -n 1p <<<"$headings") second=$(sed -n 2p <<<"$headings")
if [[ ${first#*:} != "## [Unreleased]" ]]; then
    obstacles+=("CHANGELOG.md does not begin with the section [Unreleased].")
elif [[ ! ${second#*:} =~ ^"## [$version] - "[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]]; then
    obstacles+=("The section below [Unreleased] in CHANGELOG.md has to be: ## [$version] - YYYY-MM-DD")
elif [[ $(sed -n "$((${first%%:*} + 1)),$((${second%%:*} - 1))p" CHANGELOG.md) =~ [^[:space:]] ]]; then
    obstacles+=("CHANGELOG.md has lines under [Unreleased]. Move these lines to the section [$version].")
fi

article=Sources/CredentialVault/CredentialVault.docc/UsingTheLibrary.md
grep -qF "from: \"$version\"" "$article" || obstacles+=("$article names another version in .package(url:from:).")
[[ -f Tests/Upgrades/$version/files.tar.gz ]] ||
    obstacles+=("Tests/Upgrades/$version is missing. Make it: Tests/Upgrades/make.sh")

commit=$(git rev-parse HEAD)
branch=$(git symbolic-ref --quiet --short HEAD || echo none)
[[ $branch == main ]] || obstacles+=("The branch is $branch, not main.")
[[ -z $(git status --porcelain) ]] || obstacles+=("Some files are not committed: git status")
if git rev-parse --quiet --verify "refs/tags/$version" >/dev/null; then
    obstacles+=("The tag $version exists. Raise the version in Sources/VaultBase/Release.swift.")
fi
[[ $(cat .build/tests/passed 2>/dev/null) == "$commit" ]] ||
    obstacles+=("Not all tests have passed on this commit. Type, as root: Tests/run.sh")
[[ $(cat .build/optimised/passed 2>/dev/null) == "$commit" ]] ||
    obstacles+=("Not all tests have passed with optimised programs of this commit. Type, as root: Tests/run.sh optimised")
[[ $(cat .build/machine-passed 2>/dev/null) == "$commit" ]] ||
    obstacles+=("The release programs of this commit have not passed on a machine. Type, as root: Tests/machine/run.sh")

if ((${#obstacles[@]})); then
    printf '%s\n' "${obstacles[@]}" >&2
    exit 1
fi
if [[ ${1:-} != --tag ]]; then
    echo "$version can be released. To make the tag: Sources/Packaging/release.sh --tag"
    exit
fi
git tag --annotate --message "Credential Vault $version" "$version"
echo "Made the tag $version. Next: Sources/Packaging/make-debian-packages, then git push origin main $version"
