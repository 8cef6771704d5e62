// Package browser shows pages to a Chromium without a window, so that tests see
// what a reader would: what is drawn, what is loaded, what the console says and
// what axe-core finds hard to use.
//
// Chromium comes with the machine; .tools/npm.sh installs axe-core when a test first
// asks for it. Where one of them is missing a test is left out, and with CI=true in
// the environment it fails. Fonts come with the package, so that a layout is the same
// on each machine.
package browser
