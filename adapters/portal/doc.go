// Package portal serves the web site for the people of a business. They sign in, create and rotate
// keys, manage their people and read the audit log. All forms work without scripts. The portal has
// its own listener. It shares package pages with the staff console, and follows its decisions.
//
// Binding decisions:
//
//   - routes.go lists all of the portal's own pages and the act that each requires. A handler
//     passes the business of the session to every use case. The use case checks that the record
//     belongs to the business.
//   - Only the response to one POST has a key. The form carries the ID of the future key, so that a
//     reload, a double click or a second process creates no second key.
//   - The environment and the application of all pages are chosen once, in the frame. The choice is in
//     a cookie. An address that names one of them sets it, so links keep working. Staff, who see many
//     customers, have no cookie: the address alone decides.
//   - A form that creates something has a page of its own below its list. It is sent to the list's
//     path, whose GET shows that page again when a session has ended meanwhile.
package portal
