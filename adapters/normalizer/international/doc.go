// Package international brings phone numbers and address texts into the one
// form that is compared, for any country.
//
// Phone numbers go through the numbering plans of libphonenumber. Being
// parsed is not enough there ("12" parses as +23312 in Ghana): a number must
// also be valid in its plan. Whether somebody answers it is not known here.
//
// Decisions that bind this package:
//
//   - What may stand in a number is a list: digits, one leading plus, and the
//     separators people type. The library alone also takes vanity letters,
//     extensions and "tel:" parameters, and two different texts would become
//     one number.
//   - 00 counts as the international prefix in every default region. The
//     library knows the region's own prefix only, such as 011 in the US.
//   - The match key is for comparing, never for showing: ß becomes ss.
package international
