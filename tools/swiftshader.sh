#!/usr/bin/env bash
# Puts SwiftShader, the tests' second software driver, into a folder: it is taken out of Debian's
# package chromium-common, of which nothing is installed.
#
#     tools/swiftshader.sh FOLDER      then use it by VK_DRIVER_FILES=FOLDER/icd.json
#
# Does nothing where it is there already. Exit status 3: it cannot be had on this system.
set -euo pipefail

folder=${1:?usage: tools/swiftshader.sh FOLDER}
package=chromium-common
library=libvk_swiftshader.so

unavailable() {
  echo "SwiftShader is not available: $1" >&2
  exit 3
}

offered() { apt-cache show "$package" >/dev/null 2>&1; }

[ ! -f "$folder/icd.json" ] || exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null \
  || unavailable "it is taken from Debian's $package, and there is no apt-get here"
if ! offered && [ "$(id -u)" = 0 ]; then
  apt-get update -qq
fi
offered || unavailable "apt does not offer $package (after apt-get update as root it may)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "Fetching SwiftShader from $package"
(cd "$work" && apt-get download -qq -o APT::Sandbox::User=root "$package")
dpkg-deb --fsys-tarfile "$work/$package"_*.deb \
  | tar -x -C "$work" --strip-components=4 "./usr/lib/chromium/$library"
mkdir -p "$folder"
mv "$work/$library" "$folder/"
# Loaders look for a relative path beside this file, so that the folder can be moved.
printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "./%s", "api_version": "1.3.0"}}\n' \
  "$library" >"$folder/icd.json"
