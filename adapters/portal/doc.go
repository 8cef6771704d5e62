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
package portal
