// Package console is the web site of the staff of the delivery company, on the operations
// listener below /console. It is built of package pages, as the portal is: read its decisions
// first. All of it are plain forms that work without scripts.
//
// To add a page:
//
//  1. routes.go: a line for each method with the act of domain/permissions.go that the role
//     must include; site.Always(act), or a func where it depends on the address. A POST has a
//     GET under the same path, which shows the page with its form. Where a parameter of the
//     path is an ID, name it in records, else it reaches the database unchecked. A page of its
//     own gets a line in menu; a text for ?done=word after a change goes into done.
//  2. console.go: the use cases it needs, in UseCases; wire fills them in.
//  3. x.go: handlers are func (p *Console) x(c *call) error. c.Ctx() has the deadline (3 s to
//     read, 8 s to write), c.Form and c.File what was sent, c.Actor() the person for the audit
//     log, c.May(act) whether to show a button. Answer with p.Show(c, status, "x", title, view),
//     after a change with c.Lead("/path?done=word"), for a file with c.CSV; return any error of a
//     use case as it is. c.Wrong(err) takes errors of fields, c.Field shows them where they
//     belong. Forms that must act once: p.OnceShown and p.OnceSent. Live pages: p.Stream.
//  4. html/x.html defines "content"; its address of a page is {{at "/path"}}, in Go c.At("/path").
//
// And its tests, in files of their own (staff_browser_test.go is an example), which add to the
// lists of the package by init; without its row a route fails TestEveryRouteHasARow:
//
//  5. matrix: add(map[string]row{...}), with the roles that may and
//     a form that would change something; records for its path go into scene.ids, texts that
//     outsiders must not read into scene.records, by a func in furnish; use cases by one in equip.
//  6. states: one for each look of the page; every one is held against axe in light
//     and dark, at 320 and 1280 px. journeys: what a person comes for, with and without scripts.
package console
