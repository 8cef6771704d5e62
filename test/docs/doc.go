// Package docs is for tests that take the documentation at its word: what it
// shows to be pasted is run as printed against a real server, its programs are
// fed with real signatures, and its pages are read in a real browser.
package docs
