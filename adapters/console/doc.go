// Package console serves the web site of the delivery company's staff, at /console on the
// operations listener. Like the portal, it uses package pages: read its decisions first. All forms
// work without scripts.
//
// To add a page:
//
//  1. routes.go: add a line for each method with the act of domain/permissions.go that the role
//     must include: pages.Always(act), or a func if it depends on the address. A POST needs a GET
//     with the same path, which shows the page with its form. Add path parameters that are IDs to
//     records, else they reach the database unchecked. Add the page to menu. Add a text for
//     ?done=word after a change to done.
//  2. console.go: add the use cases that it needs to UseCases. wire fills them in.
//  3. x.go: a handler is func (p *Console) x(c *call) error. c.Ctx() has the deadline (3 s to read,
//     8 s to write). c.Form and c.File hold what was sent. c.Actor() returns the person for the
//     audit log. c.May(act) says whether to show a button. Respond with p.Show(c, status, "x",
//     title, view), after a change with c.Lead("/path?done=word"), for a file with c.CSV. Return
//     errors of use cases unchanged. c.Wrong(err) takes field errors, and c.Field shows them.
//     For forms that must act once, use p.OnceShown and p.OnceSent. For live pages, use p.Stream.
//  4. html/x.html defines "content". Link to a page with {{at "/path"}}, in Go with c.At("/path").
//
// Tests are in files of their own, such as staff_browser_test.go. They add to the lists of the
// package in init. A route without a row fails TestEveryRouteHasARow:
//
//  5. matrix: add(map[string]row{...}), with the roles that may and a form that would change
//     something. A func in furnish adds records for its path to scene.ids, and texts that outsiders
//     must not read to scene.records. A func in equip adds use cases.
//  6. states: add one for each look of the page. axe checks each in light and dark, at 320 and
//     1280 px. journeys: add what a person comes for, with and without scripts.
package console
