// Package docsite serves the documentation: the guides for customers' engineers beside the sandbox
// API, and the guides for operators and engineers of the service on the operations listener.
//
// The guides are Markdown files in guides/ and operators/, with a front matter and the syntax of
// text/template. Tables are made from the domain and from the description of the API, so that they
// cannot contradict the program. Each file is executed twice (guide.go): as Markdown for readers,
// served at its address with .md and listed in llms.txt, and as the source of its page, which
// goldmark renders (markdown.go). The two differ only where HTML shows more, such as a drawing.
//
// There is also a page about each error code (explained.go), a reference made from the description
// (reference.go), and a search (search.go), which runs in the browser over an index of all sections.
// samples/ and package receivers hold the programs that pages show. test/docs runs all of them, all
// commands marked as run, and compares the responses that pages show.
//
// The site loads nothing from another origin, asks for no key and keeps no state. Pages are made at
// the first request of one. All are complete without JavaScript, except the page to try calls.
//
// Decisions that bind this package:
//
//   - Guides contain no HTML. Agents read the Markdown as it is.
//   - A link to a page that does not exist fails when the pages are made.
//   - Scalar's stand-alone file renders the page to try calls, and only that: reading the reference
//     needs no script. It is kept here compressed, with its version. A newer version needs its
//     licence next to it and its checksum in assets.go. Run test/docs to check that it still requests
//     nothing from another origin.
//   - The documentation for customers is on the host of the sandbox API, because the API has no CORS
//     and only a page of the same origin may call it.
package docsite
