// Package portal is the web site for the people of a business: they sign in, make and
// rotate keys, look after their people and read what was done. All of it are plain
// forms that work without scripts, on a listener of its own.
//
// Decisions that bind it:
//
//   - routes.go is the whole list of pages, with what a role must include for each.
//     The table is asked before a handler runs; a handler passes the business of the
//     session to every use case, and the use case checks that the record is the
//     business's. What is foreign, unknown or malformed is one page with 404.
//   - Each POST has a page with its form under the same path, or under the path of its
//     list: a session that was lost in the middle of a form comes back there, filled in.
//   - What takes a recent sign-in asks for the password in place and goes on with the
//     form as it was sent. Passwords themselves are never carried along.
//   - A key is in the answer to one POST. Its form carries the ID that the key will
//     have, so that a reload, a double click or a second process makes no second key.
//   - The session is looked up for each page and never remembered.
package portal
