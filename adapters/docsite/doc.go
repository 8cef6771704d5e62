// Package docsite serves the documentation for integrators. It is on the same host as the sandbox
// API so that its reference can call that API. The API has no CORS, so only a page of the same
// origin may call it.
//
// It has guides (pages/*.html), a page about every error code (explained.go), and a reference that
// is rendered from the description of the API. Tables are made from the domain and from that
// description, so that they cannot contradict the program. samples/ holds the programs that the
// pages show, and test/docs runs them.
//
// Every page is also available as Markdown, for agents, at its own address and at one ending in
// .md. It is made from the HTML (markdown.go) and, for the reference, from the description
// (reference.go). llms.txt lists the pages (llms.go).
//
// The site loads nothing from another origin, asks for no key and keeps no state. Every page is
// made once. All are readable without JavaScript except the reference, which links to the same as
// text.
//
// Decisions that bind this package:
//
//   - Scalar's stand-alone file renders the reference. It is kept here compressed, with its
//     version. Our own renderer was rejected: trying calls is most of its value and of its work. A
//     newer version needs its licence next to it and its checksum in assets.go. Run test/docs to
//     check that it still requests nothing from another origin.
//   - The guides are templates and not Markdown. HTML can say more, such as which code is run by
//     tests. Converting our few elements to Markdown is simple, and fails on an unknown element.
package docsite
