// Package normalizer brings phone numbers and address texts into the one form that is compared,
// for any country.
//
// It checks phone numbers against the numbering plans of libphonenumber. That a number can be
// parsed is not enough there ("12" parses as +23312 in Ghana). A national number must be valid
// in the plan of its region. An international one, with + or 00, must have a length that its
// country has: the caller has named the country, and ranges newer than the plans, and ranges
// kept for tests, have to work. The package does not know whether a number is in use.
//
// Decisions that bind this package:
//
//   - A number may contain digits, one leading plus, and the separators people type. The
//     library alone also accepts vanity letters, extensions and "tel:" parameters, and two
//     different texts would become one number.
//   - 00 counts as the international prefix in every default region. The library knows the
//     region's own prefix only, such as 011 in the US.
//   - The match key is for comparing, never for showing: ß becomes ss.
package normalizer
