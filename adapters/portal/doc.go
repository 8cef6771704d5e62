// Package portal is the web site for the people of a business: they sign in, make and
// rotate keys, look after their people and read what was done. All of it are plain
// forms that work without scripts, on a listener of its own. What it shares with the
// console of the staff is package pages, whose decisions bind it too.
//
// Decisions that bind it:
//
//   - routes.go is the whole list of its own pages, with what a role must include for each.
//     A handler passes the business of the session to every use case, and the use case
//     checks that the record is the business's.
//   - A key is in the answer to one POST. Its form carries the ID that the key will
//     have, so that a reload, a double click or a second process makes no second key.
package portal
