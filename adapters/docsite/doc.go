// Package docsite is the documentation for integrators, served beside the
// sandbox API so that its reference can call that API: the API has no CORS, and
// only a page of the same origin may.
//
// It is guides (pages/*.html), a page about every error code (explained.go), and
// a reference that is drawn from the description of the API. Tables are made
// from the domain and from that description, so that they cannot say something
// else than the program does; samples/ holds the programs that the pages show,
// and test/docs runs them.
//
// Every page is Markdown too, for agents, at its own address and beside it; it is
// made from the HTML (markdown.go) and, for the reference, from the description
// (reference.go). llms.txt lists the pages (llms.go).
//
// What it does not do: load anything from another origin, ask for a key, or
// keep state. Every page is made once and can be read without JavaScript, but
// for the reference, which says where to find the same as plain text.
//
// Decisions that bind this package:
//
//   - The reference is drawn by Scalar's stand-alone file, kept here compressed
//     and by its version. A renderer of our own was rejected: trying calls out
//     is most of its worth and of its work. A newer version needs its licence
//     beside it, its checksum in assets.go, and test/docs to find that it still
//     asks no other origin for anything.
//   - The guides are templates and not Markdown: HTML has more to say, such as which
//     code is run by tests. The way from our few elements to Markdown is short, and
//     fails on an element it does not know.
package docsite
