// Package pages renders and serves the HTML pages. It has the shared look and the web server of the
// two sites with sign-in: the customer portal and the staff console.
//
// # Look
//
// All pages share colours, fonts, the logo and a layout. Fields, notices, tables and charts are
// shared templates. Each site brings its own pages. Binding decisions:
//
//   - Nothing comes from another origin and nothing is inline: Policy blocks both.
//   - Every page is complete without its script.
//   - One stylesheet has the tokens for light and dark. Pages with their own layout, such as the
//     documentation and the tracking page, use Tokens and Icon.
//
// # Sites
//
// Each site has its own table of routes, pages and use cases. This package has the order of checks
// around a route, sessions and their cookies, forms, server-sent events and CSV tables. It also has
// the sign-in pages, the account page and the error pages.
//
// Binding decisions:
//
//   - A route names the act that its role must include. The check runs before the handler. Foreign,
//     unknown and malformed IDs get the same page with 404.
//   - Each POST has a page with its form under the same path, or under the path of its list. If the
//     session ends before the form is sent, the form comes back there, filled in. Forms with a
//     file, more than 100 fields or more than 64 KB are not kept, and the page says so: anybody can
//     request that page.
//   - A form of more than 64 KB is read only after the session and role are checked: one at a time
//     per business, and eight per process.
//   - An act that needs a recent sign-in asks for the password on the spot. It then continues with
//     the form as it was sent. Passwords themselves are never carried along.
//   - The session is read for each page and never cached. A session of one site is not valid at the
//     other. Each site has its own cookie names, because browsers share cookies across ports.
//   - Paths in Go are relative to the site. Lead, At and the template function "at" add the prefix
//     under which the site is mounted.
package pages
