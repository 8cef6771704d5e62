// Package pages makes and serves pages for people: one look for all of them, and the web server
// of the two sites that people sign in to, the portal of customers and the console of the staff.
//
// # Look
//
// All pages share colours and fonts, the logo, a layout, and parts such as fields, notices,
// tables and charts as templates. An edge brings its own pages. Decisions that bind it:
//
//   - Nothing comes from another origin and nothing is inline: Policy refuses both.
//   - Every page is complete without its script.
//   - There is one sheet of tokens, for light and dark. Pages with a layout of their
//     own, such as the documentation and the tracking page, use Tokens and Icon.
//
// # Sites
//
// Each site has a table of routes, pages
// and use cases of its own; here are the order of checks around a route, sessions and
// their cookies, the pages for signing in and for the own account, forms, streams of
// server-sent events, tables as CSV, and the pages that tell what went wrong.
//
// Decisions that bind it:
//
//   - A route names the act that its role must include. The table is asked before a
//     handler runs. What is foreign, unknown or malformed is one page with 404.
//   - Each POST has a page with its form under the same path, or under the path of its
//     list: a session that was lost in the middle of a form comes back there, filled in.
//     Forms with a file, more than 100 fields or more than 64 KB are not kept, and the page
//     says so: anybody can have that page made.
//   - A form of more than 64 KB is read only when the session and its role are known: one at a
//     time from a business, and eight in a process.
//   - What takes a recent sign-in asks for the password in place and goes on with the
//     form as it was sent. Passwords themselves are never carried along.
//   - The session is looked up for each page and never remembered. A session of one
//     site is none at the other, and each has cookies of its own: cookies are not told
//     apart by port.
//   - Paths in Go are those of the site; Lead, At and the templates' "at" put the path in
//     front under which the site is mounted.
package pages
