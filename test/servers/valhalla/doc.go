// Package valhalla starts throw-away Valhallas, the routing engine, on roads of
// our own whose lengths are known.
//
// The engine is the real one: the program that builds its tiles and its library
// come from the npm package of the project, which is installed once for a user
// into the folder of caches. Debian's osmium-tool turns the roads, which are
// written in Go, into the form that the engine reads.
//
// The package has the library and not the HTTP server, so serve.js stands for
// that: it passes questions on unread, and answers an error with the code, the
// status and the text that the engine's own documentation gives for it. The
// library itself tells the text only.
//
// Its temporary directory is removed by Stop. Its parent's death ends it (on
// Linux; elsewhere only Stop does).
package valhalla
