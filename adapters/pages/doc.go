// Package pages is what all pages for people share: colours and fonts, the logo, a
// layout, and parts such as fields, notices, tables and charts as templates. An edge
// brings its own pages and gets them in the one look.
//
// It serves no route and knows no use case. Decisions that bind it:
//
//   - Nothing comes from another origin and nothing is inline: Policy refuses both.
//   - Every page is complete without its script.
//   - Templates read fields and call functions, no methods: their names would be known at run
//     time only, and the linker would keep every exported method of the program. What a page
//     needs of a method is a field of its view, or a function in Parse.
//   - There is one sheet of tokens, for light and dark. Pages with a layout of their
//     own, such as the documentation and the tracking page, use Tokens and Icon.
package pages
