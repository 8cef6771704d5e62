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
//   - The guides are templates and not Markdown: nothing would be won by a
//     parser in the binary that only our own pages go through.
package docsite
